"""Regular expressions of JSON Schema (ECMA-262 with the `u` flag) for Python's `re`, with one meaning in both.

`re` reads many ECMA patterns without complaint and means something else: `$` also stands before a final newline, `.`
matches U+2028, `\\d`, `\\w` and `\\s` know other characters, `\\Z` and `(?i)` exist, `[[` warns. So a pattern is read
here token by token and written anew; what is not understood (back references, look-behind, named groups,
`\\p{...}`) is refused, never passed on. Compile the result without flags.
"""

from __future__ import annotations

import re

_DIGIT = "0-9"
_WORD = "A-Za-z0-9_"
_SPACE = r"\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_CLASSES = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\x0b", "f": "\x0c", "r": "\r"}
_SYNTAX = "^$\\.*+?()[]{}|/"
_BOUNDARY = f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
_WITHIN = f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))"
_SIMPLE = {"^": r"\A", "$": r"\Z", ".": r"[^\n\r\u2028\u2029]", "|": "|", ")": ")"}

_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|c([A-Za-z])")
_LOW_HALF = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_GROUP = re.compile(r"\((?:\?[:=!])?(?!\?)")
_QUANTIFIER = re.compile(r"(?:[*+?]|\{[0-9]{1,4}(?:,(?:[0-9]{1,4})?)?\})\??")


class PatternError(ValueError):
    """The pattern is not one that ECMA-262 and this module read alike."""


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, ready for `search`; a PatternError says what is wrong with it."""
    try:
        return re.compile(translated(pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(str(error)) from None


def translated(pattern: str) -> str:
    """The same pattern in Python's syntax."""
    parts: list[str] = []
    position = 0
    repeatable = False
    groups: list[bool] = []
    """For each open group whether it may be repeated: a look-ahead may not."""
    while position < len(pattern):
        character = pattern[position]
        quantifier = _QUANTIFIER.match(pattern, position)
        if quantifier:
            if not repeatable:
                raise PatternError(f"nothing to repeat at {position}")
            parts.append(quantifier[0])
            position, repeatable = quantifier.end(), False
        elif character == "(":
            group = _GROUP.match(pattern, position)
            if not group:
                raise PatternError(f"unsupported kind of group at {position}")
            groups.append(group[0] not in ("(?=", "(?!"))
            parts.append("(?:" if group[0] == "(" else group[0])
            position, repeatable = group.end(), False
        elif character == "[":
            written, position = _bracket(pattern, position + 1)
            parts.append(written)
            repeatable = True
        elif character == "\\":
            written, position, repeatable = _escape(pattern, position + 1)
            parts.append(written)
        elif character in _SIMPLE:
            if character == ")":
                if not groups:
                    raise PatternError(f"a group ends at {position} that was not opened")
                repeatable = groups.pop()
            else:
                repeatable = character == "."
            parts.append(_SIMPLE[character])
            position += 1
        elif character in _SYNTAX and character != "/":
            raise PatternError(f"{character} stands alone at {position}")
        else:
            parts.append(re.escape(character))
            position, repeatable = position + 1, True
    if groups:
        raise PatternError("a group is not closed")
    return "".join(parts)


def _escape(pattern: str, position: int) -> tuple[str, int, bool]:
    """What stands after a backslash outside of brackets: Python's text, the next position, may it be repeated."""
    letter = pattern[position : position + 1]
    if letter in ("b", "B"):
        return (_BOUNDARY if letter == "b" else _WITHIN), position + 1, False
    if letter and letter.lower() in _CLASSES:
        return f"[{'^' if letter.isupper() else ''}{_CLASSES[letter.lower()]}]", position + 1, True
    character, position = _character(pattern, position)
    return re.escape(character), position, True


def _character(pattern: str, position: int) -> tuple[str, int]:
    """The one character that an escape stands for, after its backslash."""
    letter = pattern[position : position + 1]
    if letter in _CONTROLS:
        return _CONTROLS[letter], position + 1
    if letter == "0" and not pattern[position + 1 : position + 2].isdigit():
        return "\0", position + 1
    if letter and letter in _SYNTAX:
        return letter, position + 1
    number = _HEX.match(pattern, position)
    if not number:
        raise PatternError(f"unsupported escape \\{letter}")
    if number[4]:
        return chr(ord(number[4]) % 32), number.end()
    code = int(number[1] or number[2] or number[3], 16)
    end = number.end()
    if 0xD800 <= code < 0xDC00:
        low = _LOW_HALF.match(pattern, end)
        if low:
            return chr(0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00), low.end()
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise PatternError(f"no such character: {number[0]}")
    return chr(code), end


def _bracket(pattern: str, position: int) -> tuple[str, int]:
    """A class in brackets, after its `[`."""
    negated = pattern[position : position + 1] == "^"
    position += negated
    members: list[str] = []
    while pattern[position : position + 1] != "]":
        low, position = _member(pattern, position)
        if pattern[position : position + 1] != "-" or pattern[position + 1 : position + 2] in ("]", ""):
            members.append(low if len(low) > 1 else _member_text(low))
            continue
        high, position = _member(pattern, position + 1)
        if len(low) > 1 or len(high) > 1 or low > high:
            raise PatternError("a range in brackets goes from one character to a later one")
        members.append(f"{_member_text(low)}-{_member_text(high)}")
    if not members:
        return (r"[\x00-\U0010ffff]" if negated else "(?!)"), position + 1
    return f"[{'^' if negated else ''}{''.join(members)}]", position + 1


def _member(pattern: str, position: int) -> tuple[str, int]:
    """One member of a class in brackets: a character, or Python's text (longer than one) for a class escape."""
    character = pattern[position : position + 1]
    if not character:
        raise PatternError("a class in brackets is not closed")
    if character != "\\":
        return character, position + 1
    letter = pattern[position + 1 : position + 2]
    if letter == "b":
        return "\b", position + 2
    if letter == "-":
        return "-", position + 2
    if letter and letter in _CLASSES:
        return _CLASSES[letter], position + 2
    if letter == "D":
        return r"\x00-/:-\U0010ffff", position + 2
    if letter == "W":
        return r"\x00-/:-@\x5b-\x5e\x60{-\U0010ffff", position + 2
    if letter == "S":
        return r"\x00-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e" + (
            r"\u2030-\u205e\u2060-\u2fff\u3001-\ufefe\uff00-\U0010ffff"
        ), position + 2
    return _character(pattern, position + 1)


def _member_text(character: str) -> str:
    """A character as Python writes it in brackets, where `[`, `-`, `&`, `~` and `|` could mean more."""
    return f"\\U{ord(character):08x}" if not (character.isalnum() and character.isascii()) else character
