"""The rules for name, description and the other fields: what both public validators accept, and nothing more."""

from __future__ import annotations

import re

from .. import text
from ..findings import Finding
from . import front_matter
from .bundle import Bundle

KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
NAME_CHARACTERS = 64
DESCRIPTION_CHARACTERS = 1024
COMPATIBILITY_CHARACTERS = 500
BODY_LINES = 500
BODY_TOKENS = 5000

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_VENDORS = ("anthropic", "claude")


def check(bundle: Bundle) -> list[Finding]:
    """Everything that SKILL.md's front matter and size must be."""
    skill = bundle.skill
    if skill is None:
        near = next((path for path in bundle.files if path.lower() == "skill.md"), None)
        fix = f"rename {near} to SKILL.md" if near else "add SKILL.md, or name the folder that holds it"
        return [Finding("skill.missing", "the folder has no SKILL.md", "SKILL.md", near or "", "SKILL.md", fix)]
    if skill.text is None:
        return [Finding("skill.missing", "SKILL.md is not text", "SKILL.md", want="UTF-8 text")]
    matter, found = front_matter.read(skill.text, skill.data)
    if matter is None:
        return found
    refused = {finding.pointer for finding in found}
    for key in matter.fields:
        if key not in KEYS:
            found.append(_unknown(key, matter))
    found += _name(bundle, matter, refused)
    found += _description(matter, refused)
    found += _short_fields(matter)
    found += _budget(matter)
    return found


def _place(matter: front_matter.FrontMatter, key: str) -> str:
    return f"SKILL.md:{matter.lines.get(key, 1)}"


def _unknown(key: str, matter: front_matter.FrontMatter) -> Finding:
    near = text.nearest(key, KEYS)
    fix = (
        "put it below metadata"
        if key == "version" or near is None
        else f"did you mean {near}? Else put it below metadata"
    )
    message = f"unknown key {text.shown(key)}"
    return Finding("skill.unknown_key", message, _place(matter, key), text.escaped(key), ", ".join(KEYS), fix)


def _string(matter: front_matter.FrontMatter, key: str) -> tuple[str | None, list[Finding]]:
    """A field that has to be text; None where it is missing or something else."""
    value = matter.fields.get(key)
    if value is None:
        return None, []
    if isinstance(value, dict):
        return None, [Finding("skill.not_text", f"{key} is a map", _place(matter, key), want="text")]
    if key in matter.not_text:
        fix = f'{key}: "{text.escaped(value)}"'
        message = f"{key} is a number, a date or a truth value to YAML"
        return None, [Finding("skill.not_text", message, _place(matter, key), text.shown(value), "text", fix)]
    return value, []


def _name(bundle: Bundle, matter: front_matter.FrontMatter, refused: set[str]) -> list[Finding]:
    value, found = _string(matter, "name")
    place = _place(matter, "name")
    if value is None:
        if not found and not _refused(refused, matter, "name"):
            found.append(Finding("skill.name_missing", "there is no name", place, want="name: " + _usable(bundle.name)))
        return found
    if not value:
        return [*found, Finding("skill.name_missing", "the name is empty", place, want="name: " + _usable(bundle.name))]
    if len(value) > NAME_CHARACTERS:
        want = f"at most {NAME_CHARACTERS} characters"
        found.append(Finding("skill.name", "the name is too long", place, f"{len(value)} characters", want))
    if not _NAME.match(value):
        want = "a-z, 0-9 and single hyphens between them"
        found.append(
            Finding("skill.name", "not a usable name", place, text.shown(value, 80), want, f"name: {_usable(value)}")
        )
    elif value != bundle.name:
        got = f"{text.shown(value, 80)} in the folder {text.shown(bundle.name, 80)}"
        fix = f"rename the folder to {value}; for a checkout with another name: --as {value}"
        found.append(Finding("skill.name_folder", "the name is not the folder's", place, got, "the same name", fix))
    for vendor in _VENDORS:
        if vendor in value:
            message = "the name holds a model vendor's name, which some indexes refuse"
            found.append(Finding("skill.name_vendor", message, place, vendor, severity="warning"))
    return found


def _usable(name: str) -> str:
    """The nearest valid name."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return words[:NAME_CHARACTERS].strip("-") or "my-skill"


def _refused(refused: set[str], matter: front_matter.FrontMatter, key: str) -> bool:
    """Whether the line of a key was refused already, so that its value is not to be missed again."""
    return key in matter.lines and _place(matter, key) in refused


def _description(matter: front_matter.FrontMatter, refused: set[str]) -> list[Finding]:
    value, found = _string(matter, "description")
    place = _place(matter, "description")
    if value is None and (found or _refused(refused, matter, "description")):
        return found
    want = "what the skill does and when to use it"
    if value is None or not value.strip():
        return [*found, Finding("skill.description_missing", "there is no description", place, want=want)]
    length = len(value.strip())
    if length > DESCRIPTION_CHARACTERS:
        most = f"at most {DESCRIPTION_CHARACTERS} characters"
        found.append(Finding("skill.description_long", "the description is too long", place, f"{length}", most))
    if "<" in value or ">" in value:
        found.append(Finding("skill.description_brackets", "an angle bracket in the description", place, want="words"))
    return found


def _short_fields(matter: front_matter.FrontMatter) -> list[Finding]:
    found = []
    value, wrong = _string(matter, "compatibility")
    found += wrong
    if value is not None and not 1 <= len(value.strip()) <= COMPATIBILITY_CHARACTERS:
        want = f"1 to {COMPATIBILITY_CHARACTERS} characters"
        place = _place(matter, "compatibility")
        found.append(Finding("skill.compatibility", "compatibility is empty or too long", place, f"{len(value)}", want))
    value, wrong = _string(matter, "license")
    found += wrong
    if value is not None and not value.strip():
        found.append(
            Finding("skill.license", "the license is empty", _place(matter, "license"), want="its name or file")
        )
    found += _tools(matter)
    metadata = matter.fields.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        message = "metadata is not a map"
        found.append(Finding("skill.metadata", message, _place(matter, "metadata"), want="one `key: value` a line"))
    for name in sorted(matter.not_text):
        if name.startswith("metadata."):
            message = f"{text.escaped(name)} is a number, a date or a truth value to some readers"
            found.append(
                Finding(
                    "skill.metadata_quotes", message, _place(matter, name), fix="put it in quotes", severity="warning"
                )
            )
    return found


def _tools(matter: front_matter.FrontMatter) -> list[Finding]:
    value, found = _string(matter, "allowed-tools")
    if value is None:
        return found
    place = _place(matter, "allowed-tools")
    if not value.strip():
        found.append(Finding("skill.allowed_tools", "allowed-tools is empty", place, want="tools with spaces between"))
    for part in re.findall(r"\([^)]*\)", value):
        if " " in part:
            message = "a space inside a tool pattern: clients that split at spaces break it"
            found.append(Finding("skill.allowed_tools_space", message, place, text.shown(part), severity="warning"))
    if re.search(r"(?<![\w-])(?:Bash|Shell|Terminal)(?:\(\s*\*?(?::\*)?\s*\))?(?=[\s,]|\Z)", value):
        message = "every command of a shell is allowed without a question"
        fix = "name the commands: Bash(python3:*)"
        found.append(
            Finding("skill.allowed_tools_shell", message, place, text.shown(value), fix=fix, severity="warning")
        )
    return found


def tokens(words: str) -> int:
    """About how many tokens a text has, without a tokenizer: a quarter of the characters, and one for each of CJK."""
    wide = sum(1 for character in words if character >= "\u2e80")
    return wide + (len(words) - wide + 3) // 4


def _budget(matter: front_matter.FrontMatter) -> list[Finding]:
    found = []
    lines, estimate = matter.body.count("\n"), tokens(matter.body)
    place = f"SKILL.md:{matter.body_line}"
    fix = "move what is not always needed to references/ and link it"
    if not matter.body.strip():
        message = "SKILL.md says nothing below its front matter"
        found.append(Finding("skill.body_empty", message, place, want="instructions", severity="warning"))
    if lines >= BODY_LINES:
        message, want = "the body is long", f"fewer than {BODY_LINES} lines"
        found.append(Finding("skill.body_lines", message, place, f"{lines} lines", want, fix, "warning"))
    if estimate > BODY_TOKENS:
        message, want = "the body is long", f"at most about {BODY_TOKENS} tokens"
        found.append(Finding("skill.body_tokens", message, place, f"about {estimate} tokens", want, fix, "warning"))
    return found
