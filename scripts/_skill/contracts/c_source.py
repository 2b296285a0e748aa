"""Reads the text of a C environment before anything is compiled: what a pure header has no use for is named.

Text only: comments and strings are understood, macros are not expanded, so a name put together by a macro stays
hidden here and is found in the compiled object (`c_environment`). An include from elsewhere, inline assembly and code
that runs before `main` mean that nothing is compiled at all.
"""

from __future__ import annotations

import bisect
import itertools
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from .. import strict_json, text
from ..findings import Finding, Refusal
from .contract import Place, found

MAX_FILES = 16
MAX_FINDINGS = 40
MAX_STRUCTS = 200
UNSAFE_TO_COMPILE = frozenset({"c_source.include", "c_source.assembly", "c_source.before_main", "c_source.directive"})

CONTRACT = "puffer/environment.h"
SYSTEM_HEADERS = frozenset(f"{name}.h" for name in ("stdint", "stddef", "stdbool", "string", "limits", "float", "math"))


class Family(NamedTuple):
    """Names that mean one thing that the contract forbids."""

    code: str
    message: str
    names: frozenset[str]
    want: str


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


FAMILIES = (
    Family(
        "c_source.heap",
        "memory of the heap",
        _names(
            "malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc strdup strndup "
            "alloca __builtin_alloca __builtin_malloc mmap munmap brk sbrk delete unique_ptr shared_ptr"
        ),
        "arrays of fixed size in State: copying the struct is a checkpoint",
    ),
    Family(
        "c_source.random",
        "random numbers that are not the State's",
        _names(
            "rand srand rand_r srandom drand48 erand48 lrand48 mrand48 srand48 arc4random arc4random_uniform "
            "getrandom getentropy random_device mt19937 mt19937_64 default_random_engine _rdrand32_step "
            "__builtin_ia32_rdrand32_step"
        ),
        "random_uniform(&s->random) and its kin",
    ),
    Family(
        "c_source.clock",
        "a clock",
        _names(
            "time clock clock_gettime gettimeofday timespec_get localtime gmtime ftime times nanosleep usleep sleep "
            "__rdtsc __builtin_ia32_rdtsc __builtin_readcyclecounter chrono steady_clock system_clock"
        ),
        "a counter of steps in State",
    ),
    Family(
        "c_source.input_output",
        "input or output",
        _names(
            "printf fprintf dprintf vprintf vfprintf puts fputs putchar putc fputc perror fwrite fread fopen freopen "
            "fdopen fclose fflush scanf fscanf gets fgets getchar open openat creat read write pread pwrite close "
            "unlink remove rename mkdir socket connect send recv ioctl syslog cout cerr clog cin printk syscall"
        ),
        "statistics and render; print from a program of your own while debugging",
    ),
    Family(
        "c_source.process",
        "the process around the environment",
        _names(
            "system popen fork vfork execl execlp execle execv execvp execve posix_spawn kill raise signal sigaction "
            "abort exit _exit _Exit quick_exit atexit longjmp setjmp siglongjmp sigsetjmp getenv setenv putenv dlopen "
            "dlsym pthread_create thread ptrace setlocale"
        ),
        "functions of their arguments only",
    ),
)
_VALUES = _names("stdout stderr stdin errno environ __DATE__ __TIME__ __TIMESTAMP__ __COUNTER__")
_CALLED_ONLY = _names(
    "time clock times random read write open close send recv signal free remove rename kill thread exit system abort "
    "connect sleep delete raise fork gets puts perror alarm close_range"
)
"""Common words: taken for the library's only where they are called and not defined in the same text."""

_BEFORE_MAIN = re.compile(
    r"\b(?:__)?(?:constructor|destructor|init_priority|ifunc|section|alias|weakref|cleanup|naked)(?:__)?\b"
)
_ATTRIBUTE = re.compile(r"\b__(?:attribute__|declspec)\s*\(|\[\[")
_ASSEMBLY = re.compile(r"\b(?:asm|__asm__|__asm|_asm)\b")
_DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*([A-Za-z_]*)(.*)$", re.MULTILINE)
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_OF_THE_CONTRACT = re.compile(
    r"(?i:puffer_)|random_|canvas_|draw_|truncate_all|terminate_all|F32$|U8$|(?:MULTI_)?DISCRETE$"
)
_DIRECTIVES = _names("define undef if ifdef ifndef elif else endif error warning include")
_KEYWORDS = _names(
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register return short signed sizeof static struct switch typedef union unsigned void volatile while PUFFER_FN "
    "State Settings Step Statistics Observation Random Canvas reset step observe statistics render uint8_t int32_t"
)


class Source(NamedTuple):
    """One file of an environment without its comments, line by line as it was."""

    name: str
    code: str
    """Comments and the insides of strings are blank; every character stands where it stood."""
    literal: str
    """As `code`, with the insides of strings."""

    starts: list[int]
    """Where each line starts."""

    def line(self, position: int) -> int:
        """The line (from 1) of a position in `code`."""
        return bisect.bisect_right(self.starts, position)


def check(folder: str, name: str) -> list[Finding]:
    """What stands in `<name>.h` and in the files of its folder that it includes; bounded, nothing is run."""
    findings: list[Finding] = []
    waiting, seen = [f"{name}.h"], {f"{name}.h"}
    if os.path.lexists(os.path.join(folder, CONTRACT)):
        findings.append(
            found(
                "c_source.include",
                "the folder holds a file that stands in for the contract",
                Place(call=CONTRACT),
                fix="remove it",
            )
        )
    while waiting and len(findings) < MAX_FINDINGS:
        source = _read(folder, waiting.pop(0))
        for finding in _of_source(source):
            if len(findings) >= MAX_FINDINGS:
                break
            if isinstance(finding, Finding):
                findings.append(finding)
            elif finding.name not in seen:
                seen.add(finding.name)
                if len(seen) > MAX_FILES or not os.path.isfile(os.path.join(folder, finding.name)):
                    message = f"includes {text.shown(finding.name)}, which is not in the environment's folder"
                    place = Place(call=f"{source.name}:{finding.line}")
                    findings.append(found("c_source.include", message, place, want=_allowed()))
                else:
                    waiting.append(finding.name)
    return findings[:MAX_FINDINGS]


def _read(folder: str, name: str) -> Source:
    """The file without comments; a Refusal where it cannot be read."""
    data = strict_json.read_file(os.path.join(folder, name))
    try:
        whole = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal(Finding("c_source.encoding", "the header is not UTF-8", name, want="UTF-8 text")) from None
    # A line that goes on after a backslash is one line to the compiler; `starts` still knows the lines of the file.
    parts = re.split(r"(\\\r?\n|\n)", whole)
    joined: list[str] = []
    starts, position = [0], 0
    for index, part in enumerate(parts):
        kept = "" if index % 2 and part != "\n" else part
        joined.append(kept)
        position += len(kept)
        if index % 2:
            starts.append(position)
    code = "".join(joined)
    return Source(name, blanked(code, keep_strings=False), blanked(code, keep_strings=True), starts)


_PARTS = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'|/\*.*?(?:\*/|\Z)|//[^\n]*""", re.DOTALL)


def blanked(code: str, keep_strings: bool) -> str:
    """The text with comments (and, unless kept, the insides of strings) turned into spaces; line ends stay."""

    def blank(match: re.Match[str]) -> str:
        part = match[0]
        if part[0] in "\"'":
            return part if keep_strings else part[0] + re.sub(r"[^\n]", " ", part[1:-1]) + part[-1]
        return re.sub(r"[^\n]", " ", part)

    return _PARTS.sub(blank, code)


class _Included(NamedTuple):
    """A file of the environment's folder, and the line that asks for it."""

    name: str
    line: int


def _of_source(source: Source) -> Iterator[Finding | _Included]:
    """Findings, and included files of the same folder."""

    def finding(code: str, message: str, position: int, got: str = "", want: str = "") -> Finding:
        place = Place(call=f"{source.name}:{source.line(position)}")
        return found(code, message, place, got=text.escaped(got.strip(), 80), want=want)

    for match in _DIRECTIVE.finditer(source.code):
        word, rest = match[1], source.literal[match.start(2) : match.end(2)].strip()
        if word == "include":
            included = re.fullmatch(r'(?:<([^>"]+)>|"([^"\n]+)")', rest)
            name = (included[1] or included[2]) if included else ""
            if included and name in (CONTRACT, *SYSTEM_HEADERS):
                if name == "math.h":
                    message = "the C library's mathematics differ from machine to machine"
                    place = Place(call=f"{source.name}:{source.line(match.start())}")
                    fix = "puffer_sin, puffer_cos, puffer_abs, puffer_clamp"
                    yield found("c_source.mathematics", message, place, fix=fix, severity="warning")
            elif included and included[2] and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
                yield _Included(name, source.line(match.start()))
            else:
                yield finding("c_source.include", "includes what is not allowed", match.start(), rest, _allowed())
        elif word == "pragma":
            if rest != "once":
                message = "a #pragma changes how the compiler reads the rest"
                yield finding("c_source.directive", message, match.start(), rest, "#pragma once")
        elif word and word not in _DIRECTIVES:
            message = f"the directive #{text.escaped(word, 40)} is not allowed"
            yield finding("c_source.directive", message, match.start(), rest, text.listed(_DIRECTIVES))
        elif word in ("define", "undef"):
            macro = re.match(r"\w+", rest)
            if macro and (macro[0] in _KEYWORDS or _OF_THE_CONTRACT.match(macro[0])):
                message = f"{word}s {text.escaped(macro[0], 40)}, a word of the language or of the contract"
                yield finding("c_source.directive", message, match.start(), rest, "a name of your own")
    for pattern, code, message in (
        (_ASSEMBLY, "c_source.assembly", "inline assembly"),
        (re.compile(r"\?\?[=/'()!<>-]|%:|\b_Pragma\b"), "c_source.directive", "a trigraph, digraph or _Pragma"),
        (re.compile(r'\b(?:u8|[uUL])?R"'), "c_source.directive", "a raw string, which C does not know"),
        (re.compile(r"\b(?:__has_include|__has_embed|include_next|embed)\b"), "c_source.directive", "looks for files"),
    ):
        for match in pattern.finditer(source.code):
            yield finding(code, message, match.start(), match[0], "plain C")
    for match in _ATTRIBUTE.finditer(source.code):
        # What an attribute says may stand in a string, as in section("...").
        rest = source.literal[match.end() : match.end() + 200]
        end = re.search(r"\)\s*\)|\]\s*\]", rest)
        named = _BEFORE_MAIN.search(rest[: end.start()] if end else rest)
        if named:
            message = "an attribute that runs or places code outside of the five functions"
            yield finding("c_source.before_main", message, match.start(), named[0], "no such attribute")
    for look in (_words, _globals, _pointers):
        for message_and_place in look(source):
            yield finding(*message_and_place)


def _words(source: Source) -> Iterator[tuple[str, str, int, str, str]]:
    """Names of the C library, each once a line."""
    defined = set(_defined(source.code))
    last = (-1, "")
    for match in _WORD.finditer(source.code):
        word = match[0]
        called = source.code[match.end() : match.end() + 8].lstrip().startswith("(")
        member = source.code[max(0, match.start() - 8) : match.start()].rstrip().endswith(("->", "."))
        if member or (word in defined and word in _CALLED_ONLY):
            continue
        family = next((one for one in FAMILIES if word in one.names), None)
        if word == "random" and called:
            family = FAMILIES[1]
        if word == "new" and source.name.endswith((".hpp", ".cpp")):
            family = FAMILIES[0]
        if family is None and word in _VALUES:
            family = FAMILIES[3] if word.startswith("std") else FAMILIES[4]
        if family is None or (word in _CALLED_ONLY and not called):
            continue
        line = source.line(match.start())
        if last != (line, word):
            last = (line, word)
            yield family.code, f"uses {family.message}", match.start(), word, family.want


def _defined(code: str) -> Iterator[str]:
    """Names of functions with a body: each `) {` is walked back to its `(`, never past the statement before."""
    for match in re.finditer(r"\)\s*\{", code):
        depth, position = 0, match.start()
        while position >= 0 and code[position] not in ";{}":
            depth += {")": 1, "(": -1}.get(code[position], 0)
            if depth == 0:
                name = re.search(r"(\w+)\s*\Z", code[max(0, position - 100) : position])
                yield name[1] if name else ""
                break
            position -= 1


def _globals(source: Source) -> Iterator[tuple[str, str, int, str, str]]:
    """Variables that outlive a call: of the file, or static inside a function. Constants are none."""
    want = "a member of State, or `static const`"
    code = re.sub(r"^[ \t]*#[^\n]*", lambda match: " " * len(match[0]), source.code, flags=re.MULTILINE)
    structs = 0
    for match in re.finditer(
        r"\b(?:static|thread_local|_Thread_local|__thread|extern)\b([^;{}()=]{0,200})([;=({[]?)", code
    ):
        words = match[1].split()
        if match[2] == "{" and words and words[0] in ("struct", "union") and structs < MAX_STRUCTS:
            structs += 1
            end = _closing(code, match.end() - 1)
            if re.match(r"\s*\w", code[end + 1 : end + 80]) and "const" not in words:
                yield "c_source.global", "a variable that outlives a call", match.start(), match[0], want
        if match[2] == "(" or "const" in words or "constexpr" in words or "inline" in words or not words:
            continue
        if match[2] in ("=", ";", "[") or match[0].startswith(("thread_local", "_Thread_local", "__thread")):
            yield "c_source.global", "a variable that outlives a call", match.start(), match[0], want
    depth, start, visible = 0, 0, ""
    statement: list[str] = []
    for position, character in enumerate(code):
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0 and visible == ")":
                statement.clear()
        elif depth == 0 and character == ";":
            words_of = "".join(statement).strip()
            at = start if statement else position
            statement.clear()
            head = words_of.partition("=")[0]
            if re.match(
                r"(?:typedef|static|extern|thread_local|_Thread_local|_Static_assert|static_assert|using)\b", head
            ):
                continue
            if "(" in head and not re.search(r"\(\s*\*", head):
                continue
            plain = re.search(r"\bconst(?:expr)?\b", head[head.rfind("*") + 1 :])
            if words_of and not plain and len(head.replace("[", " ").split()) >= 2 and not _only_a_type(head):
                yield "c_source.global", "a variable that outlives a call", at, words_of, want
        elif depth == 0:
            if not statement and not character.isspace():
                start = position
            if statement or not character.isspace():
                statement.append(character)
            visible = visible if character.isspace() else character


def _only_a_type(head: str) -> bool:
    """Whether `struct Name` declares nothing but the type (its braces have been left out)."""
    return re.fullmatch(r"(?:struct|union|enum)(?:\s+\w+)?\s*", head) is not None


_STRUCT = re.compile(r"\btypedef\s+(?:struct|union)\b[^{;]{0,200}\{")
_NAMED = re.compile(r"\b(?:struct|union)\s+(\w+)\s*\{")


def _pointers(source: Source) -> Iterator[tuple[str, str, int, str, str]]:
    """Pointers in State and in the structs that it holds: a copy of such a struct is no copy of what it means."""
    bodies: dict[str, tuple[int, str]] = {}
    for pattern in (_STRUCT, _NAMED):
        for match in itertools.islice(pattern.finditer(source.code), MAX_STRUCTS):
            end = _closing(source.code, match.end() - 1)
            after = re.match(r"\s*(\w+)", source.code[end + 1 :])
            name = match[1] if pattern is _NAMED else after[1] if after else ""
            bodies[name] = (match.end(), source.code[match.end() : end])
    waiting, seen = ["State"], {"State"}
    while waiting:
        start, body = bodies.get(waiting.pop(), (0, ""))
        # A size may be a product: [ROWS * COLUMNS] is no pointer.
        plain = re.sub(r"\[[^\]]{0,200}\]", lambda size: " " * len(size[0]), body)
        for match in re.finditer(r"[*&]|\bu?intptr_t\b|\bFILE\b", plain):
            line = body[max(0, match.start() - 60) : match.start()].rpartition(";")[2]
            line += body[match.start() : match.start() + 60].partition(";")[0]
            message = "State holds a pointer"
            yield "c_source.pointer", message, start + match.start(), line, "indices into arrays of fixed size"
        for word in re.findall(r"\w+", body):
            if word in bodies and word not in seen:
                seen.add(word)
                waiting.append(word)


def _closing(code: str, opening: int) -> int:
    """The position of the brace that closes the one at `opening`, or the end of the text."""
    depth = 0
    for match in re.finditer(r"[{}]", code[opening:]):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return opening + match.start()
    return len(code)


def _allowed() -> str:
    return f'"{CONTRACT}", a file beside the header, or <{">, <".join(sorted(SYSTEM_HEADERS))}>'
