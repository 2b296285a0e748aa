"""Programs that reach a shell, run text as code, unpickle, or install what is not pinned: file and line of each.

Python is read by its own parser; shell scripts and the shell blocks of documents by words; other languages by the names
of the calls that start a shell. Nothing is run.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from .. import text
from ..findings import Finding
from . import hidden, links, markdown, python_calls
from .bundle import MARKDOWN, Bundle, File

MAX_FINDINGS = 50
"""How many places of one file are reported."""

_SHELL_SUFFIXES = {".sh", ".bash", ".zsh", ".ksh", ".fish", ".command"}
_SHELL_BLOCKS = {"bash", "sh", "shell", "zsh", "console", "shell-session", "terminal", "powershell", "ps1", "pwsh"}
_SHEBANG = re.compile(r"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:\S*/)?(\w+)")

_FETCH = r"(?:curl|wget|fetch|aria2c|iwr|irm|invoke-webrequest|invoke-restmethod|http)"
# Something to fetch has to stand behind it: a table of languages may name curl and python in one row.
_ADDRESS = r"(?=[^\n|]{0,400}(?:://|\$|\w\.[a-z]{2}))"
_SEND = r"(?:curl|wget|nc|ncat|scp|rsync|ftp)"
_KEYS = r"(?:\.ssh/|\.aws/|\.netrc|id_rsa|id_ed25519|\.gnupg|\.kube/|/etc/(?:passwd|shadow)|\$\(env\)|printenv)"
_RUNNER = (
    r"(?:sudo\s+(?:-\S+\s+)*)?(?:env\s+(?:\S+=\S*\s+)*)?(?:\S*/)?(?:(?:ba|z|da|k|fi|a)?sh|"
    r"python[\d.]*|perl|ruby|node|deno|bun|php|iex|invoke-expression|source|eval|osascript)\b"
)
_SHELL_RULES = (
    (
        "program.download_and_run",
        "runs what it downloads",
        rf"\b{_FETCH}\b{_ADDRESS}[^\n;&|]{{0,400}}(?:\|[^\n;&|]{{0,200}}){{0,4}}\|\s{{0,20}}{_RUNNER}",
    ),
    (
        "program.download_and_run",
        "runs what it downloads",
        rf"\b(?:(?:ba|z|da|k)?sh|python[\d.]*|perl|source|eval|"
        rf"\.)\s+(?:-\S{{1,20}}\s+){{0,4}}[\"']?(?:<\(|\$\(|`)\s{{0,9}}{_FETCH}\b",
    ),
    (
        "program.download_and_run",
        "runs what it downloads",
        rf"\b(?:iex|invoke-expression)\b[^\n]{{0,200}}\b(?:{_FETCH}|downloadstring)\b",
    ),
    (
        "program.download_and_run",
        "runs what it downloads",
        rf"\b{_FETCH}\b[^\n]{{0,300}}?(?:\s-[a-zA-Z]{{0,8}}[oO]\s+|--output[ =]|"
        rf">\s{{0,9}})[\"']?([^\s\"';&|]{{1,100}})[\"']?\s[^\n]{{0,300}}?(?:&&|;|"
        rf"\|\|)[^\n]{{0,200}}?(?:{_RUNNER}\s+|chmod\s+\S{{1,9}}\s+|\./)[\"']?(?:\./)?\1",
    ),
    (
        "program.decode_and_run",
        "runs what it decodes",
        rf"\b(?:base64|openssl|xxd|gunzip|zcat|uudecode|rev|tr)\b[^\n|"
        rf"]{{0,300}}\|\s{{0,20}}{_RUNNER}",
    ),
    (
        "program.exfiltration",
        "sends keys or passwords away, or opens a shell to a host",
        rf"\b{_SEND}\b[^\n]{{0,300}}{_KEYS}|{_KEYS}[^\n]{{0,200}}\|[^\n]{{0,100}}\b{_SEND}\b|/dev/(?:tcp|udp)/|"
        rf"\bn(?:c|cat)\b[^\n|]{{0,100}}\s-[a-z]{{0,4}}[ec]\b",
    ),
    ("program.eval", "runs text as a command", r"(?:^|[;&|({]\s{0,9}|\bthen\s+|\bdo\s+|\belse\s+)eval\s+\S"),
    (
        "program.shell_text",
        "hands text to another shell",
        r"\b(?:ba|z|da|k)?sh\s+(?:-[a-z]{1,9}\s+){0,4}-[a-z]{0,9}c\b",
    ),
    (
        "program.destroys",
        "removes far more than its own files",
        r"\brm\s+(?:-\S{1,20}\s+){0,4}-\w{0,9}[rR]\w{0,9}\s+(?:-\S{1,20}\s+){0,4}[\"']?(?:/|~|"
        r"\$\{?HOME\}?|/\*|\*)[\"']?/?(?:\s|$)",
    ),
)
_SHELL_WARNINGS = (
    ("program.backticks", "backticks run a command inside text", r"`[^`\n]+`"),
    ("program.privileged", "asks for all rights", r"(?:^|[;&|]\s*)sudo\s"),
)
_OTHER_RULES = {
    ".js": r"\bexecSync\s*\(|(?:child_?process['\"]?\)?\.|\b(?:cp|child|proc)\.|(?<![.\w]))exec\s*\(|"
    r"\bshell\s*:\s*(?:true|['\"])|"
    r"(?<![.\w])eval\s*\(|\bnew\s+Function\s*\(",
    ".rb": r"(?<![.\w])(?:system|exec|spawn|eval|instance_eval)\s*[( ]\s*[\"'\w]|%x[\[({]|`[^`\n]+`|"
    r"\bOpen3\.\w+\(\s*\"",
    ".pl": r"(?<![.\w$@%])(?:system|exec|eval)\s*[( ]\s*[\"'$]|\bqx\b|`[^`\n]+`",
    ".php": r"(?<![.\w>$])(?:shell_exec|exec|system|passthru|popen|proc_open|eval)\s*\(|`[^`\n]+`",
    ".c": r"(?<![.\w>])(?:system|popen|_popen|wordexp)\s*\(\s*[^)\s]|\bexecl[pe]?\s*\(\s*\"[^\"]*sh\"",
    ".go": r"exec\.Command(?:Context)?\([^)\n]*\"(?:ba|z)?sh\"\s*,\s*\"-c\"",
    ".rs": r"Command::new\(\s*\"(?:ba|z)?sh\"\s*\)",
    ".ps1": r"\b(?:iex|Invoke-Expression)\b",
    ".lua": r"\bos\.execute\s*\(|\bio\.popen\s*\(|\bload(?:string)?\s*\(",
    ".bat": r"\bpowershell\b[^\n]*-(?:enc|e|EncodedCommand)\b",
}
_SAME_AS = {
    ".mjs": ".js",
    ".cjs": ".js",
    ".ts": ".js",
    ".tsx": ".js",
    ".jsx": ".js",
    ".h": ".c",
    ".cpp": ".c",
    ".cc": ".c",
}
_SAME_AS |= {".hpp": ".c", ".cxx": ".c", ".cu": ".c", ".cuh": ".c", ".pm": ".pl", ".psm1": ".ps1", ".cmd": ".bat"}

_INSTALL = re.compile(
    r"(?:^|[\s;&|(`$])(?:(?:uv\s+)?pip3?|python[\d.]*\s+-m\s+pip|py\s+-m\s+pip)\s+install\s+(?P<pip>[^\n;&|`)#]+)|"
    r"(?:^|[\s;&|(`$])(?:uvx|pipx\s+(?:run|install)|uv\s+tool\s+(?:run|install))\s+(?P<tool>[^\n;&|`)#]+)|"
    r"(?:^|[\s;&|(`$])(?:npx|npm\s+(?:i|install|exec)|pnpm\s+(?:add|dlx)|yarn\s+(?:add|dlx)|"
    r"bunx|bun\s+add)\s+(?P<npm>[^\n;&|`)#]+)|"
    r"(?:^|[\s;&|(`$])(?:cargo\s+install|go\s+install|gem\s+install)\s+(?P<other>[^\n;&|`)#]+)",
    re.MULTILINE,
)
_EVERYWHERE = 6
"""The first of them are searched in running text too."""
_COMPILED = [
    (code, message, re.compile(pattern, re.MULTILINE | re.IGNORECASE)) for code, message, pattern in _SHELL_RULES
]
_COMPILED_WARNINGS = [(code, message, re.compile(pattern, re.MULTILINE)) for code, message, pattern in _SHELL_WARNINGS]


def check(bundle: Bundle) -> list[Finding]:
    """Every program of the bundle and the shell blocks of its documents."""
    found: list[Finding] = []
    led_to = links.reached(bundle)
    for file, content in bundle.texts():
        bundle.check_time()
        severe = hidden.is_read(file, led_to)
        calls = list(itertools.islice(_file(file, content), MAX_FINDINGS))
        found += calls if severe else hidden.as_warnings(calls)
    return found


def _file(file: File, content: str) -> Iterator[Finding]:
    language = _language(file, content)
    if file.suffix in MARKDOWN:
        for block in markdown.parse(content).blocks:
            if block.language in _SHELL_BLOCKS or block.language == "":
                yield from _shell(file, _typed(block), block.line - 1, in_document=True)
            elif block.language in ("python", "py"):
                yield from _python(file, block.text, block.line - 1, in_document=True)
        yield from _prose(file, content)
    elif language == "python":
        yield from _python(file, content, 0)
    elif language == "shell":
        yield from _shell(file, content, 0)
    elif language in _OTHER_RULES:
        for match in re.finditer(_OTHER_RULES[language], content):
            if not _is_comment(content, match.start()):
                yield _finding(
                    file, content, match.start(), 0, "program.shell", "reaches a shell or runs text", match[0]
                )
    elif file.suffix in (".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", "") or language == "make":
        for code, message, pattern in _COMPILED[:_EVERYWHERE]:
            for match in pattern.finditer(content):
                yield _finding(file, content, match.start(), 0, code, message, match[0])


def _language(file: File, content: str) -> str:
    suffix = _SAME_AS.get(file.suffix, file.suffix)
    if suffix in (".py", ".pyw", ".pyi"):
        return "python"
    if suffix in _SHELL_SUFFIXES:
        return "shell"
    if suffix in _OTHER_RULES:
        return suffix
    match = _SHEBANG.match(content)
    if match:
        name = match[1]
        if name.startswith(("python", "pypy")):
            return "python"
        if name in ("sh", "bash", "zsh", "dash", "ksh", "fish"):
            return "shell"
        return {"node": ".js", "deno": ".js", "ruby": ".rb", "perl": ".pl", "php": ".php", "lua": ".lua"}.get(name, "")
    return "make" if file.path.rsplit("/", 1)[-1].lower() in ("makefile", "justfile", "dockerfile") else ""


def _typed(block: markdown.Block) -> str:
    """What a person would type of a block: without prompts of a terminal."""
    return re.sub(r"^[ \t]*(?:\$|>|%|#)[ \t]+(?=\S)", "", block.text, flags=re.MULTILINE)


def _shell(file: File, content: str, lines_before: int, in_document: bool = False) -> Iterator[Finding]:
    # A backslash joins lines; the count of lines stays, since only the break itself is replaced.
    joined = re.sub(r"\\\r?\n", "  ", content)
    joined = re.sub(r"(\|[ \t]{0,9})\r?\n[ \t]{0,99}", r"\1", joined)
    for code, message, pattern in _COMPILED:
        for match in pattern.finditer(joined):
            if not _is_comment(joined, match.start()) or in_document:
                yield _finding(file, joined, match.start(), lines_before, code, message, match[0])
    if not in_document:
        for code, message, pattern in _COMPILED_WARNINGS:
            for match in pattern.finditer(joined):
                if not _is_comment(joined, match.start()):
                    finding = _finding(file, joined, match.start(), lines_before, code, message, match[0])
                    yield finding._replace(severity="warning")
    yield from _installs(file, joined, lines_before)


def _prose(file: File, content: str) -> Iterator[Finding]:
    """Commands in running text and inline code: only what downloads or decodes and runs."""
    document = markdown.parse(content)
    outside = (
        content
        if not document.blocks
        else "\n".join(
            line if kept.strip() else ""
            for line, kept in zip(content.split("\n"), document.prose.split("\n"), strict=False)
        )
    )
    for code, message, pattern in _COMPILED[:_EVERYWHERE]:
        for match in pattern.finditer(outside):
            yield _finding(file, outside, match.start(), 0, code, message, match[0])


def _installs(file: File, content: str, lines_before: int) -> Iterator[Finding]:
    for match in _INSTALL.finditer(content):
        if _is_comment(content, match.start()):
            continue
        kind, words = next((kind, words) for kind, words in match.groupdict().items() if words is not None)
        loose = python_calls.unpinned(words.split(), kind)
        if loose:
            message = "installs without a version: what runs can change any day"
            got, fix = text.listed(loose, 4), f"{loose[0]}{'==' if kind in ('pip', 'tool') else '@'}VERSION"
            finding = _finding(file, content, match.start() + 1, lines_before, "program.unpinned", message, got)
            yield finding._replace(fix=fix, severity="warning")


def _python(file: File, content: str, lines_before: int, in_document: bool = False) -> Iterator[Finding]:
    calls = python_calls.find(content)
    if calls is None:
        if not in_document:
            message = "Python that its own parser does not take, so nothing in it was checked"
            yield Finding("program.unreadable", message, text.escaped(file.path), severity="warning")
        return
    for call in calls:
        place = f"{text.escaped(file.path)}:{call.line + lines_before}"
        severity = "warning" if call.mild else "error"
        fix = "pass a list of words, without a shell" if call.code == "program.shell" else ""
        yield Finding(call.code, call.message, place, text.shown(call.got, 100), "", fix, severity)


def _is_comment(content: str, at: int) -> bool:
    """Whether a place lies behind a comment mark at the start of its line."""
    line = content[content.rfind("\n", 0, at + 1) + 1 : at + 1].lstrip()
    return line.startswith(("#", "//", "*", "/*", "--", "REM ")) and not line.startswith("#!")


def _finding(file: File, content: str, at: int, before: int, code: str, message: str, got: str) -> Finding:
    line = content.count("\n", 0, at) + 1 + before
    return Finding(code, message, f"{text.escaped(file.path)}:{line}", text.shown(got.strip(), 100))
