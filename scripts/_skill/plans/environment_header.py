"""Reads the metadata of a C environment from its header's text, without compiling or running anything.

The metadata are preprocessor macros (`ENV_NAME`, `ENV_AGENTS`, `ENV_SETTINGS` ...) whose values are literals: numbers,
strings, and lists of those. Anything else there, and a macro that is defined twice, is refused: the gate
must not guess what a compiler would make of it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .. import text
from ..findings import Finding, Refusal

MAX_BYTES = 1 << 20

_REQUIRED = ("ENV_NAME", "ENV_TITLE", "ENV_TASK", "ENV_AUTHOR", "ENV_AGENTS", "ENV_OBSERVATION", "ENV_ACTION")
_LISTS = ("ENV_SETTINGS", "ENV_STATISTICS")
# Comments are found together with string literals, so that a // inside a string stays. What has no end is taken up to
# where the text, or for a string the line, ends: otherwise every beginning would be searched to its end anew.
_COMMENT_OR_STRING = re.compile(r'("(?:[^"\\\n]|\\(?:.|\Z))*(?:"|(?=\n)|\Z))|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(ENV_[A-Z_]+)\b(\([^)\n]*\))?[ \t]*(.*)$", re.MULTILINE)
_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)[fF]?(?![A-Za-z0-9_.])"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<mark>[(),]))"
)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
_ESCAPES = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\", "\\'": "'"}


class Setting(NamedTuple):
    """One setting of an environment with its bounds, both inclusive."""

    type: str
    """`int` or `float`."""
    name: str
    default: float
    least: float
    most: float
    description: str


class EnvironmentHeader(NamedTuple):
    """What a header says about its environment."""

    name: str
    title: str
    task: str
    author: str
    agents: int
    """Agents per environment."""
    observation_type: str
    """`float32` or `uint8`."""
    observation_shape: tuple[int, ...]
    action_kind: str
    """`DISCRETE` or `MULTI_DISCRETE`."""
    action_sizes: tuple[int, ...]
    settings: dict[str, Setting]
    statistics: dict[str, str]

    @property
    def observation_bytes(self) -> int:
        """Bytes of one agent's observation."""
        size = 4 if self.observation_type == "float32" else 1
        for length in self.observation_shape:
            size *= length
        return size


def read(data: bytes, source: str) -> EnvironmentHeader:
    """The metadata in a header's bytes; a Refusal names the macro that is missing or not a plain literal."""
    try:
        plain = data.decode("utf-8").replace("\\\r\n", " ").replace("\\\n", " ")
    except UnicodeDecodeError:
        raise _refusal(source, "ENV_NAME", "the header is not UTF-8", "UTF-8 text") from None
    plain = _COMMENT_OR_STRING.sub(lambda match: match[1] or " ", plain)
    macros: dict[str, str] = {}
    for name, parameters, body in _DEFINE.findall(plain):
        if name not in _REQUIRED and name not in _LISTS:
            continue
        if name in macros:
            raise _refusal(source, name, f"{name} is defined twice", "one definition")
        if bool(parameters) != (name in _LISTS):
            raise _refusal(
                source, name, f"{name} has the wrong form", f"#define {name}{'(MACRO)' if not parameters else ''} ..."
            )
        macros[name] = body.strip()
    for name in _REQUIRED:
        if name not in macros:
            raise _refusal(source, name, f"the header does not define {name}", f"#define {name} ...")
    return _build(macros, source)


def _build(macros: dict[str, str], source: str) -> EnvironmentHeader:
    name = _string(macros, "ENV_NAME", source)
    if not _NAME.match(name):
        raise _refusal(
            source, "ENV_NAME", f"not an environment name: {text.shown(name)}", "lower-case letters, digits, _"
        )
    agents = _sizes(_values(macros["ENV_AGENTS"], "ENV_AGENTS", source), "ENV_AGENTS", source)
    kinds: dict[str, tuple[str, tuple[int, ...]]] = {}
    for macro, known in (("ENV_OBSERVATION", ("F32", "U8")), ("ENV_ACTION", ("DISCRETE", "MULTI_DISCRETE"))):
        calls = _calls(macros[macro], macro, source)
        if len(calls) != 1 or calls[0][0] not in known:
            near = text.nearest(calls[0][0], known) if calls else None
            raise _refusal(
                source,
                macro,
                f"{macro} is {text.shown(macros[macro], 60)}",
                f"one of {', '.join(known)} with sizes",
                near,
            )
        kinds[macro] = calls[0][0], _sizes(calls[0][1], macro, source)
    if len(agents) != 1:
        raise _refusal(source, "ENV_AGENTS", "ENV_AGENTS is not one number", "a whole number of at least 1")
    statistics: dict[str, str] = {}
    for call in _calls(macros.get("ENV_STATISTICS", ""), "ENV_STATISTICS", source):
        values = call[1]
        if len(values) != 2 or not _is_name(values[0]) or not _is_string(values[1]):
            raise _refusal(source, "ENV_STATISTICS", "a statistic of the wrong form", 'STATISTIC(name, "description")')
        statistics[str(values[0])] = _unquoted(str(values[1]))
    return EnvironmentHeader(
        name=name,
        title=_string(macros, "ENV_TITLE", source),
        task=_string(macros, "ENV_TASK", source),
        author=_string(macros, "ENV_AUTHOR", source),
        agents=agents[0],
        observation_type="float32" if kinds["ENV_OBSERVATION"][0] == "F32" else "uint8",
        observation_shape=kinds["ENV_OBSERVATION"][1],
        action_kind=kinds["ENV_ACTION"][0],
        action_sizes=kinds["ENV_ACTION"][1],
        settings=_settings(macros.get("ENV_SETTINGS", ""), source),
        statistics=statistics,
    )


def _settings(body: str, source: str) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for call, values in _calls(body, "ENV_SETTINGS", source):
        if (
            len(values) != 6
            or values[0] not in ("int", "float")
            or not _is_name(values[1])
            or any(not isinstance(value, (int, float)) for value in values[2:5])
            or not _is_string(values[5])
        ):
            raise _refusal(
                source,
                "ENV_SETTINGS",
                f"setting {len(found) + 1} ({text.escaped(call, 40)}) is of the wrong form",
                'SETTING(float or int, name, default, least, most, "description") with plain numbers',
            )
        default, least, most = (value for value in values[2:5] if isinstance(value, (int, float)))
        name = str(values[1])
        if name in found or not least <= default <= most:
            raise _refusal(source, "ENV_SETTINGS", f"setting {name}: named twice, or default outside its bounds", "")
        found[name] = Setting(str(values[0]), name, default, least, most, _unquoted(str(values[5])))
    return found


def _tokens(body: str, macro: str, source: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position = 0
    body = body.rstrip()
    while position < len(body):
        match = _TOKEN.match(body, position)
        if not match or not match.lastgroup:
            raise _refusal(
                source, macro, f"{macro}: not a literal: {text.shown(body[position:], 40)}", "numbers and strings"
            )
        tokens.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return tokens


def _calls(body: str, macro: str, source: str) -> list[tuple[str, list[str | int | float]]]:
    """The calls `NAME(value, value, ...)` that a body consists of."""
    tokens = _tokens(body, macro, source)
    calls: list[tuple[str, list[str | int | float]]] = []
    position = 0
    while position < len(tokens):
        end = position + 1
        while end < len(tokens) and tokens[end] != ("mark", ")"):
            end += 1
        if (
            tokens[position][0] != "name"
            or tokens[position + 1 : position + 2] != [("mark", "(")]
            or end >= len(tokens)
        ):
            raise _refusal(source, macro, f"{macro} is not a list of NAME(...)", "NAME(value, ...) with plain literals")
        calls.append((tokens[position][1], _joined(tokens[position + 2 : end], macro, source)))
        position = end + 1
    return calls


def _values(body: str, macro: str, source: str) -> list[str | int | float]:
    return _joined(_tokens(body, macro, source), macro, source)


def _joined(tokens: list[tuple[str, str]], macro: str, source: str) -> list[str | int | float]:
    """Values separated by commas; neighbouring string literals become one, as in C."""
    values: list[str | int | float] = []
    fresh = True
    for group, word in tokens:
        if group == "mark":
            if word != "," or fresh:
                raise _refusal(source, macro, f"{macro}: unexpected {word}", "values separated by commas")
            fresh = True
            continue
        if not fresh:
            if group == "string" and _is_string(values[-1]):
                values[-1] = str(values[-1])[:-1] + word[1:]
                continue
            raise _refusal(source, macro, f"{macro}: a comma is missing before {text.shown(word, 40)}", "commas")
        values.append(word if group != "number" else float(word) if re.search("[.eE]", word) else int(word[:20]))
        fresh = False
    return values


def _string(macros: dict[str, str], macro: str, source: str) -> str:
    values = _values(macros[macro], macro, source)
    if len(values) != 1 or not _is_string(values[0]):
        raise _refusal(source, macro, f"{macro} is not a string literal", f'#define {macro} "..."')
    return _unquoted(str(values[0]))


def _sizes(values: list[str | int | float], macro: str, source: str) -> tuple[int, ...]:
    sizes = tuple(value for value in values if isinstance(value, int) and 1 <= value <= 1 << 24)
    if not sizes or len(sizes) != len(values) or len(sizes) > 64:
        raise _refusal(source, macro, f"{macro} is not made of whole numbers", "whole numbers from 1 to 16777216")
    return sizes


def _is_string(value: str | int | float) -> bool:
    return isinstance(value, str) and value.startswith('"')


def _is_name(value: str | int | float) -> bool:
    return isinstance(value, str) and _NAME.match(value) is not None


def _unquoted(literal: str) -> str:
    return re.sub(r"\\.", lambda match: _ESCAPES.get(match[0], match[0]), literal[1:-1])


def _refusal(source: str, macro: str, message: str, want: str, near: str | None = None) -> Refusal:
    return Refusal(
        Finding(
            "environment.header", message, f"{source}#{macro}", want=want, fix=f"did you mean {near}?" if near else ""
        )
    )
