"""A skill's files, listed and read in bounded time and memory; links, pipes and devices are found, never followed.

Every folder and file is opened relative to the handle of the folder that holds it, so nothing outside the bundle is
read, whatever the names say and whatever changes meanwhile.
"""

from __future__ import annotations

import os
import stat
import time
import unicodedata
from typing import NamedTuple

from .. import regular_file, text
from ..findings import Finding, Refusal, could_not

MAX_ENTRIES = 20_000
MAX_DEPTH = 24
MAX_FILE_BYTES = 2 << 20
"""A longer text file is not checked, and that is an error."""
MAX_TOTAL_BYTES = 64 << 20
MAX_SECONDS = 60.0
"""For all checks together; see `Bundle.check_time`."""

DOCUMENTS = frozenset({".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".html", ".htm", ".xml", ".svg", ".json"})
DOCUMENTS |= {".jsonl", ".yaml", ".yml", ".toml", ".csv", ".tsv", ".ini", ".cfg", ".ipynb", ".prompt", ".tmpl", ""}
"""Files whose text is made to be read, and so reaches a prompt as it is; a name without an extension counts."""
MARKDOWN = frozenset({".md", ".mdx", ".markdown"})
MEDIA = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".ttf", ".otf", ".woff", ".woff2", ".mp3", ".mp4"})
ARCHIVES = frozenset({".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".whl", ".jar", ".rar", ".zst", ".skill"})

_LEFT_OUT_NAMES = {
    ".git": "version control",
    ".hg": "version control",
    "__pycache__": "compiled Python",
    ".hypothesis": "a cache",
}
_LEFT_OUT_MARKS = {"pyvenv.cfg": "a virtual environment", "CACHEDIR.TAG": "a cache"}


class File(NamedTuple):
    """One plain file of the bundle."""

    path: str
    """Relative to the bundle, with `/`."""
    text: str | None
    """Its text; None where it is not text."""
    data: bytes

    @property
    def suffix(self) -> str:
        """The lower-case extension with its dot; empty where the name has none."""
        return os.path.splitext(self.path)[1].lower()


class Bundle:
    """A folder with a SKILL.md, read once."""

    def __init__(self, folder: str, name: str | None = None, leave_out: tuple[str, ...] = ()) -> None:
        self.folder = os.path.abspath(folder)
        self.name = os.path.basename(self.folder) if name is None else name
        """What the folder is called, or is to be checked as."""
        self.files: dict[str, File] = {}
        self.folders: set[str] = {""}
        self.findings: list[Finding] = []
        self.left_out: dict[str, str] = {}
        """Folders that were not looked into, and why."""
        self.not_text: list[str] = []
        self._leave_out = {part.strip("/") for part in leave_out}
        self._bytes = 0
        self._entries = 0
        self._deadline = time.monotonic() + MAX_SECONDS
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            handle = os.open(self.folder, flags)
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise could_not("bundle.unreadable", f"cannot open the folder: {reason}", where=folder) from None
        self._walk(handle, "", 0)

    @property
    def skill(self) -> File | None:
        """SKILL.md."""
        return self.files.get("SKILL.md")

    def markdown(self) -> list[File]:
        """The Markdown documents that are text."""
        return [file for file in self.files.values() if file.suffix in MARKDOWN and file.text is not None]

    def texts(self) -> list[tuple[File, str]]:
        """Every text file with its text."""
        return [(file, file.text) for file in self.files.values() if file.text is not None]

    def check_time(self) -> None:
        """Ends the check where it has taken too long; half a check is no check (exit 2)."""
        if time.monotonic() > self._deadline:
            raise could_not("bundle.time", f"the check took more than {MAX_SECONDS:.0f} s", where=self.folder)

    def _walk(self, handle: int, path: str, depth: int) -> None:
        """Lists and reads one folder; closes `handle`."""
        try:
            with os.scandir(handle) as entries:
                names = []
                for entry in entries:
                    self._entries += 1
                    if self._entries > MAX_ENTRIES:
                        raise could_not(
                            "bundle.entries",
                            f"the folder holds more than {MAX_ENTRIES} files",
                            where=self.folder,
                            fix="name the skill's own folder, or leave folders out: --leave-out FOLDER",
                        )
                    names.append(entry.name)
            self.check_time()
            self._check_names(path, names)
            for name in sorted(names):
                self._entry(handle, f"{path}/{name}" if path else name, name, depth)
        finally:
            os.close(handle)

    def _entry(self, folder: int, path: str, name: str, depth: int) -> None:
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except OSError as error:
            self._note("bundle.unreadable", f"cannot look at it: {error.strerror}", path)
            return
        if stat.S_ISLNK(mode):
            if path not in self._leave_out:
                self._note(
                    "bundle.link", "a symbolic link", path, "a link", "a plain file", "put the file itself there"
                )
        elif stat.S_ISDIR(mode):
            self._folder(folder, path, name, depth)
        elif not stat.S_ISREG(mode):
            self._note("bundle.kind", "neither a file nor a folder", path, want="plain files and folders", fix="remove")
        elif path in self._leave_out:
            self.left_out[path] = "left out by the caller"
        elif name in _LEFT_OUT_NAMES and name != "__pycache__":
            # A checkout that is a worktree has a file here, with nothing in it but the place of another folder.
            self.left_out[path] = _LEFT_OUT_NAMES[name]
        else:
            self._file(folder, path, name)

    def _folder(self, folder: int, path: str, name: str, depth: int) -> None:
        if path in self._leave_out:
            self.left_out[path] = "left out by the caller"
            return
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(name, flags, dir_fd=folder)
        except OSError as error:
            self._note("bundle.unreadable", f"cannot open the folder: {error.strerror}", path)
            return
        reason = _LEFT_OUT_NAMES.get(name)
        for mark, meaning in _LEFT_OUT_MARKS.items():
            if reason is None and _exists(mark, handle):
                reason = meaning
        if reason is not None or depth >= MAX_DEPTH:
            os.close(handle)
            if reason is None:
                self._note("bundle.depth", f"folders nest deeper than {MAX_DEPTH}", path)
            else:
                self.left_out[path] = reason
            return
        self.folders.add(path)
        self._walk(handle, path, depth + 1)

    def _file(self, folder: int, path: str, name: str) -> None:
        try:
            handle, status = regular_file.open_for_reading(name, folder)
        except Refusal as refusal:
            self.findings.extend(finding._replace(pointer=path) for finding in refusal.findings)
            return
        with os.fdopen(handle, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        if self._bytes + len(data) > MAX_TOTAL_BYTES:
            raise could_not("bundle.size", f"more than {text.byte_count(MAX_TOTAL_BYTES)} to read", where=self.folder)
        self._bytes += len(data)
        suffix = os.path.splitext(name)[1].lower()
        if (
            suffix in MEDIA
            or suffix in ARCHIVES
            or (b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")))
        ):
            if suffix in MARKDOWN:
                self._note("text.encoding", "a document that is not text", path, "NUL bytes", "UTF-8", "save as UTF-8")
            self.not_text.append(path)
            self.files[path] = File(path, None, data[:64])
            return
        if len(data) > MAX_FILE_BYTES:
            size = text.byte_count(status.st_size)
            self._note("bundle.too_large", "too large to be checked", path, size, text.byte_count(MAX_FILE_BYTES))
            self.files[path] = File(path, None, data[:64])
            return
        try:
            decoded = data.decode("utf-8")
        except UnicodeDecodeError as error:
            got = f"byte 0x{data[error.start]:02x} at offset {error.start}"
            self._note("text.encoding", "the text is not UTF-8", path, got, "UTF-8", "save the file as UTF-8")
            # What can be read is checked all the same.
            decoded = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1", "replace")
        self.files[path] = File(path, decoded, data)

    def _check_names(self, folder: str, names: list[str]) -> None:
        seen: dict[str, str] = {}
        for name in names:
            path = f"{folder}/{name}" if folder else name
            if not name.isprintable() or "\\" in name or name != name.strip() or name.endswith("."):
                want = "letters, digits, dots, hyphens, underscores"
                self._note(
                    "bundle.name", "a file name that hides or changes what it says", path, want=want, fix="rename"
                )
            folded = unicodedata.normalize("NFKC", name).casefold()
            other = seen.setdefault(folded, name)
            if other != name:
                got = f"{text.escaped(other)} and {text.escaped(name)}"
                fix = "rename one: on some systems they are the same file"
                self._note("bundle.name_collision", "two names differ only in case or form", path, got, fix=fix)

    def _note(self, code: str, message: str, path: str, got: str = "", want: str = "", fix: str = "") -> None:
        self.findings.append(Finding(code, message, text.escaped(path), got, want, fix))


def _exists(name: str, folder: int) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
