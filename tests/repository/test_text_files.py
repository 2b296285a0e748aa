"""What holds for every file: plain text, of a size that can be read, and tied to no machine and no registry."""

from __future__ import annotations

import re
from pathlib import Path

# Written in parts, so that this file passes its own test.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("pytorch", "org/whl"),
        ("npmjs", "org"),
        ("deb", "debian", "org"),
        ("conda", "anaconda", "org"),
        ("crates", "io"),
    )
]
MACHINE_PATH = re.compile(
    r"(?<![\w.<{$~/-])/(?:" + "|".join(("root", "work", r"ho" r"me/\w+", r"Us" r"ers/\w+")) + r")/\w"
)
GENERATED = {".lock", ".txt"}
LONGEST = 900


def test_every_file_is_a_plain_file(repository: Path, files: list[Path]) -> None:
    assert [str(file) for file in files if (repository / file).is_symlink() or not (repository / file).is_file()] == []


def test_every_file_is_clean_text(texts: dict[Path, str]) -> None:
    for file, text in texts.items():
        assert not text.startswith("\ufeff"), f"{file} starts with a byte-order mark"
        assert "\r" not in text, f"{file} has a carriage return"
        assert text == "" or text.endswith("\n"), f"{file} does not end with a newline"
        assert not text.endswith("\n\n"), f"{file} ends with an empty line"


def test_no_file_is_too_long_to_be_read(texts: dict[Path, str]) -> None:
    long = {str(file): text.count("\n") for file, text in texts.items() if file.suffix not in GENERATED}
    assert {file: lines for file, lines in long.items() if lines > LONGEST} == {}


def test_no_file_names_a_package_registry(texts: dict[Path, str]) -> None:
    assert [(str(file), host) for file, text in texts.items() for host in REGISTRIES if host in text] == []


def test_no_file_names_a_path_of_one_machine(texts: dict[Path, str]) -> None:
    found = [(str(file), match.group()) for file, text in texts.items() for match in MACHINE_PATH.finditer(text)]
    assert found == []


def test_the_path_test_would_find_one() -> None:
    for path in ("root/x", "work/main", "home/ann/x"):
        assert MACHINE_PATH.search(f"see /{path}"), path
        for before in (".", "~", "native_profile"):
            assert not MACHINE_PATH.search(f"{before}/{path}"), (before, path)


def test_nothing_is_left_to_be_done_later(texts: dict[Path, str]) -> None:
    words = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
    assert [(str(file), match.group()) for file, text in texts.items() for match in words.finditer(text)] == []
