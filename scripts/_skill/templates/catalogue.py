"""Finds, shows and writes templates; two words of one may change: the name of what it defines, and the bundle."""

from __future__ import annotations

import keyword
import os
import re
import stat
from typing import NamedTuple

from .. import atomic_file, layout, text
from ..findings import COULD_NOT, Finding, Refusal

FOLDER = os.path.dirname(os.path.abspath(__file__))
BUNDLE_MARK = "@BUNDLE@"

_CLASS = re.compile(r"^class ([A-Z]\w*)", re.MULTILINE)
_CLASS_NAME = re.compile(r"[A-Z][A-Za-z0-9]{0,39}\Z")
_HEADER_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_C_WORDS = frozenset(
    "auto bool break case char class const continue default delete do double else enum extern float for goto if inline "
    "int long namespace new operator private public register return short signed sizeof static struct switch template "
    "this typedef union unsigned using virtual void volatile while step reset observe render statistics state".split()
)


class Template(NamedTuple):
    """One template."""

    name: str
    kind: str
    """`environments` or `training`."""
    files: dict[str, str]
    """File name to text, as they are written."""
    symbol: str
    """The class or environment that it defines; empty for a training program."""
    about: str

    @property
    def is_folder(self) -> bool:
        """Whether it is written as a folder: a C environment."""
        return any(name.endswith(".h") for name in self.files)


def names(kind: str) -> list[str]:
    """The templates of a kind, in order."""
    return sorted({entry.split(".")[0] for entry in os.listdir(os.path.join(FOLDER, kind)) if entry[0] not in "._"})


def load(kind: str, name: str) -> Template:
    """One template; an unknown name is refused with the nearest."""
    known = names(kind)
    if name not in known:
        near = text.nearest(name, known)
        fix = f"did you mean {near}?" if near else "see the list command"
        message = f"there is no template {text.shown(name)}"
        raise Refusal(Finding("template.unknown", message, want=text.listed(known), fix=fix), exit_status=COULD_NOT)
    folder = os.path.join(FOLDER, kind)
    if os.path.isdir(os.path.join(folder, name)):
        files = {
            entry: _read(os.path.join(folder, name, entry)) for entry in sorted(os.listdir(os.path.join(folder, name)))
        }
        header = files[f"{name}.h"]
        return Template(name, kind, files, name, " ".join(header.split("*/")[0].lstrip("/* ").split(". ")[0].split()))
    ending = ".py.txt" if os.path.exists(os.path.join(folder, f"{name}.py.txt")) else ".py"
    content = _read(os.path.join(folder, name + ending))
    match = _CLASS.search(content) if kind == "environments" else None
    about = content.split('"""')[1].splitlines()[0].rstrip(".:")
    return Template(name, kind, {f"{name}.py": content}, match[1] if match else "", about)


def named(template: Template, name: str | None) -> Template:
    """The template under another name of its class or C environment; a name that would not work is refused."""
    files = {file: content.replace(BUNDLE_MARK, _quotable(layout.ROOT)) for file, content in template.files.items()}
    if name is None:
        return template._replace(files=files)
    if not template.symbol:
        raise _bad_name(name, "a training program defines no class", "no --name")
    pattern = _HEADER_NAME if template.is_folder else _CLASS_NAME
    want = "lower-case words with underscores: my_env" if template.is_folder else "a class name: MyEnv"
    if (
        not pattern.match(name)
        or len(name) > 40
        or keyword.iskeyword(name)
        or (template.is_folder and name in _C_WORDS)
    ):
        raise _bad_name(name, "not a usable name", want)
    word = re.compile(rf"\b{re.escape(template.symbol)}\b")
    if name != template.symbol and any(re.search(rf"\b{re.escape(name)}\b", content) for content in files.values()):
        raise _bad_name(name, "the template uses this name for something else", want)
    files = {
        file.replace(template.symbol, name) if template.is_folder else file: word.sub(name, content)
        for file, content in files.items()
    }
    return template._replace(files=files, symbol=name)


def write(template: Template, out: str) -> str:
    """Writes the template to a new file or folder and returns its path; nothing that exists is replaced.

    `out` is a file for one file and the environment's own folder for a C environment; an existing folder takes either.
    """
    if template.is_folder:
        target = os.path.join(out, template.symbol) if os.path.isdir(out) else out.rstrip("/")
        if os.path.basename(target) != template.symbol:
            fix = (
                f"--out {os.path.join(os.path.dirname(target), template.symbol)}, or --name {os.path.basename(target)}"
            )
            message = "the folder of a C environment is called as the environment is"
            raise Refusal(Finding("template.folder", message, text.escaped(target), want=template.symbol, fix=fix))
        return _write_folder(template, target)
    file = next(iter(template.files))
    target = os.path.join(out, file) if os.path.isdir(out) else out
    if not target.endswith(".py"):
        raise Refusal(
            Finding("template.file", "not the name of a Python file", text.escaped(target), want=f"{target}.py")
        )
    atomic_file.create(target, template.files[file].encode())
    return target


def _write_folder(template: Template, target: str) -> str:
    """A folder that is there as a whole or not at all: made beside its place, then renamed."""
    import shutil

    if os.path.lexists(target):
        fix = "choose another name or remove it"
        raise Refusal(Finding("file.exists", "the folder exists and is never replaced", text.escaped(target), fix=fix))
    parent = os.path.dirname(os.path.abspath(target))
    temporary = os.path.join(parent, f".{template.symbol}.{os.urandom(6).hex()}.tmp")
    try:
        os.mkdir(temporary)
    except OSError as error:
        raise atomic_file.unwritable(target, error) from None
    try:
        for file, content in template.files.items():
            atomic_file.create(os.path.join(temporary, file), content.encode(), sync_name=False)
        atomic_file.sync_folder(temporary)
        # On Linux a rename fails where a folder with something in it, or a file, has appeared meanwhile.
        os.rename(temporary, target)
    except OSError as error:
        raise atomic_file.unwritable(target, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    atomic_file.sync_folder(parent)
    return target


def _quotable(path: str) -> str:
    """A path inside a Python string with double quotes."""
    return path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _bad_name(name: str, message: str, want: str) -> Refusal:
    return Refusal(Finding("template.name", message, got=text.shown(name, 60), want=want), exit_status=COULD_NOT)


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise Refusal(Finding("file.kind", "this is not a plain file", path), exit_status=COULD_NOT)
        return stream.read(1 << 20)
