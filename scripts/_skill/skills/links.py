"""Links: every one leads to a file of the bundle, one level from SKILL.md, and none leads out."""

from __future__ import annotations

import posixpath
import re

from .. import text
from ..findings import Finding
from . import markdown
from .bundle import MARKDOWN, Bundle, File

CONTENTS_LINES = 300
"""A longer reference has a table of contents."""

MAX_FINDINGS = 50
"""How many links of one document are reported."""

_WEB = {"http", "https", "mailto", "tel", "ftp"}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_FOLDERS = r"(?<![\w-])(?:scripts|references|assets|schemas|templates)/"
_NAMED = re.compile(_FOLDERS + r"[\w.{}$*<>/\\-]{0,200}[\w>}*]")
_BEFORE = re.compile(r"[\w.{}$~/\\*<>:-]{0,100}\Z")


def check(bundle: Bundle) -> list[Finding]:
    """The links of all Markdown documents and the files that SKILL.md names."""
    found: list[Finding] = []
    direct: set[str] = set()
    if bundle.skill is not None and bundle.skill.text is not None:
        direct = _targets(bundle.skill.text)
    for file in bundle.markdown():
        bundle.check_time()
        assert file.text is not None
        document = markdown.parse(file.text)
        before = len(found)
        for link in markdown.links(document):
            found += _link(bundle, file, link, direct)
            if len(found) - before >= MAX_FINDINGS:
                break
        if file.path != "SKILL.md":
            found += _contents(file)
    found += _named(bundle)
    return found


def reached(bundle: Bundle) -> set[str]:
    """The files that SKILL.md links or names: an agent is led to them."""
    if bundle.skill is None or bundle.skill.text is None:
        return set()
    names = _targets(bundle.skill.text) | {posixpath.normpath(match[0]) for match in _NAMED.finditer(bundle.skill.text)}
    return names & set(bundle.files)


def _targets(content: str) -> set[str]:
    found = set()
    for link in markdown.links(markdown.parse(content)):
        found.add(posixpath.normpath(re.split(r"[#?]", link.target)[0]))
    return found


def _link(bundle: Bundle, file: File, link: markdown.Link, direct: set[str]) -> list[Finding]:
    place = f"{file.path}:{link.line}"
    target = link.target
    got = text.shown(target, 120)
    scheme = _SCHEME.match(target)
    if scheme and len(scheme[1]) > 1:
        if scheme[1].lower() not in _WEB:
            if scheme[1].lower() == "data":
                return []  # judged with the encoded blocks
            return [
                Finding("link.scheme", "a link that is neither a file nor on the web", place, got, "a relative path")
            ]
        if link.image and scheme[1].lower() in ("http", "https", "ftp"):
            message = "an image on the web: fetching it tells its host, and the address can carry data"
            return [Finding("link.remote_image", message, place, got, "an image in the bundle", severity="warning")]
        return []
    if target.startswith("//"):
        return [Finding("link.outside", "a link to another host", place, got, "a relative path")]
    path, _, anchor = target.partition("#")
    path = path.partition("?")[0]
    if not path:
        return _anchor(file, anchor, place, got)
    parts = _parts(posixpath.dirname(file.path), path)
    if parts is None:
        return [Finding("link.outside", "a link that leaves the bundle", place, got, "a relative path inside")]
    resolved = "/".join(parts)
    if resolved in bundle.folders:
        return []
    if resolved in bundle.files:
        found = _anchor(bundle.files[resolved], anchor, place, got) if anchor else []
        if (
            file.path.startswith("references/")
            and resolved.startswith("references/")
            and resolved not in direct
            and file.path != resolved
        ):
            fix = f"link {resolved} from SKILL.md too"
            found.append(
                Finding("link.deep", "a reference that SKILL.md does not link", place, got, fix=fix, severity="warning")
            )
        return found
    if _left_out(bundle, resolved):
        return [Finding("link.left_out", "a link into a folder that was not checked", place, got, "a checked file")]
    near = text.nearest(resolved, bundle.files)
    fix = f"did you mean {near}?" if near else ""
    return [Finding("link.missing", "a link to a file that is not there", place, got, "a file of the bundle", fix)]


def _parts(folder: str, path: str) -> list[str] | None:
    """The components of a path below the bundle; None where it leaves the bundle or is absolute."""
    if path.startswith(("/", "~", "\\")) or "\\" in path or re.match(r"[A-Za-z]:", path) or "\0" in path:
        return None
    parts = [part for part in folder.split("/") if part]
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return parts


def _left_out(bundle: Bundle, path: str) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in bundle.left_out)


def _anchor(file: File, anchor: str, place: str, got: str) -> list[Finding]:
    if not anchor or file.suffix not in MARKDOWN or file.text is None:
        return []
    known = markdown.anchors(file.text)
    if anchor.lower() in {name.lower() for name in known} or re.fullmatch(r"L\d+(-L\d+)?|top|:~:.*", anchor):
        return []
    near = text.nearest(anchor, known)
    fix = f"did you mean #{text.escaped(near)}?" if near else ""
    return [Finding("link.anchor", "a link to a heading that is not there", place, got, "a heading", fix, "warning")]


def _contents(file: File) -> list[Finding]:
    assert file.text is not None
    lines = file.text.count("\n")
    if lines <= CONTENTS_LINES:
        return []
    first = "\n".join(file.text.split("\n")[:60])
    named = any(
        re.match(r"(?i)(table of )?contents|on this page|overview of sections", h) for h in markdown.headings(first)
    )
    if named or len(re.findall(r"\]\(#", first)) >= 3:
        return []
    message = "a long document without a table of contents"
    fix = "link its sections near the top"
    return [
        Finding("document.contents", message, file.path, f"{lines} lines", f"at most {CONTENTS_LINES}", fix, "warning")
    ]


def _named(bundle: Bundle) -> list[Finding]:
    """Files that SKILL.md names in its text, such as `scripts/run.py`."""
    skill = bundle.skill
    if skill is None or skill.text is None:
        return []
    found: list[Finding] = []
    seen: set[str] = set()
    for match in _NAMED.finditer(skill.text):
        if skill.text[max(0, match.start() - 4) : match.start()].endswith(("](", "](./", "]: ")):
            continue  # a link, judged with the others
        tail = match[0].rstrip(".:")
        before = _BEFORE.search(skill.text[max(0, match.start() - 100) : match.start()])
        name = (before[0] if before else "") + tail
        if len(found) >= MAX_FINDINGS:
            break
        if name in seen or "//" in name or re.search(r"[*<>{}$]", tail):
            continue
        seen.add(name)
        if "." not in tail.rsplit("/", 1)[-1] and ".." not in tail:
            continue
        line = skill.text.count("\n", 0, match.start()) + 1
        place, got = f"SKILL.md:{line}", text.shown(name, 120)
        parts = _parts("", tail)
        if parts is None or "\\" in name:
            found.append(Finding("link.outside", "a path that leaves the bundle", place, got, "a path inside"))
        elif "/".join(parts) not in bundle.files and posixpath.normpath(name) not in bundle.files:
            near = text.nearest("/".join(parts), bundle.files)
            fix = f"did you mean {near}?" if near else ""
            code = "script.missing" if tail.startswith("scripts/") else "link.missing"
            found.append(Finding(code, "SKILL.md names a file that is not there", place, got, "a file", fix))
    return found
