"""Every reader of untrusted bytes, each with valid inputs to start from. Adding a reader is adding an entry here.

A reader may return, or refuse with a `Refusal`. Anything else that it raises is a crash.
"""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for place in (ROOT, ROOT / "scripts"):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))


@dataclass(frozen=True)
class Reader:
    """One reader."""

    name: str
    seeds: Callable[[], Sequence[bytes]]
    """Valid inputs that are changed."""
    read: Callable[[bytes, Path], object]
    """Reads bytes; the path is a scratch file for readers that open one themselves."""
    also_refuses: Sequence[str] = ()
    """Names of exceptions, beside `Refusal`, that are an answer and not a crash."""
    generated: str = ""
    """Name of a function in the tests' corpus that makes an input from nothing; every fourth input is such a one."""

    def make(self, choose: random.Random, seeds: Sequence[bytes]) -> bytes:
        """One input."""
        from tests.checkpoints.corpus import generated, mutations

        if self.generated and choose.random() < 0.25:
            made: bytes = getattr(generated, self.generated)(choose)
            return made
        return mutations.mutated(choose, choose.choice(seeds), seeds)


def from_file(read: Callable[[str], object], name: str = "input") -> Callable[[bytes, Path], object]:
    """A reader that opens a path."""

    def through_file(data: bytes, scratch: Path) -> object:
        path = scratch.with_name(name)
        path.write_bytes(data)
        return read(str(path))

    return through_file


# Seeds


def schema_documents() -> list[bytes]:
    """The shipped schemas, which are JSON like any other."""
    return [path.read_bytes() for path in sorted((ROOT / "schemas").iterdir())]


def plan_files() -> list[bytes]:
    """Plans as make_plan.py writes them."""
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for environment in ("cartpole", "breakout", "squared"):
            out = Path(folder) / f"{environment}.json"
            _tool(folder, "make_plan.py", environment, "--run", "first", "--out", str(out))
            found.append(out.read_bytes())
        return found


def _tool(folder: str, name: str, *arguments: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / name), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr[-500:]}")


def approval_files() -> list[bytes]:
    """An approval as approve.py writes it, with fewer items, so that it is read quickly."""
    from _skill.gate import approval, digest

    with tempfile.TemporaryDirectory() as folder:
        _tool(folder, "make_plan.py", "cartpole", "--run", "first", "--out", "plan.json")
        _tool(folder, "approve.py", "plan.json", "--by", "Ada", "--out", "approval.json")
        document = json.loads((Path(folder) / "approval.json").read_bytes())
    document["items"] = dict(list(document["items"].items())[:6])
    document["digest"] = digest.of(document["items"])
    document["sha256"] = approval._checksum(document)
    written = approval._written(document)
    approval.parse(written, "approval.json")
    return [written]


def audit_logs() -> list[bytes]:
    """A log of a few records."""
    from _skill.gate.audit_log import LOG, AuditLog

    with tempfile.TemporaryDirectory() as folder:
        log = AuditLog.create(folder)
        log.append(("planned", {"run": "first"}), ("approved", {"by": "Ada"}))
        log.append(("started", {"pid": 7}), ("ended", {"exit_status": 0, "text": "größe"}))
        log.close()
        return [(Path(folder) / LOG).read_bytes()]


def manifest_files() -> list[bytes]:
    """A manifest of a small folder."""
    from _skill.manifests import file_manifest

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "w"
        for name in ("a", "b/c.safetensors", "b/ä"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(name.encode())
        return [file_manifest.create(str(root), str(Path(folder) / "m.json")).data]


def archives() -> list[bytes]:
    """Tar archives, packed and not, and a zip."""
    found = []
    for mode, form in (
        ("w", tarfile.PAX_FORMAT),
        ("w", tarfile.GNU_FORMAT),
        ("w:gz", tarfile.PAX_FORMAT),
        ("w:xz", tarfile.USTAR_FORMAT),
    ):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=mode, format=form) as stream:  # type: ignore[call-overload]
            for name in ("skill/SKILL.md", "skill/" + ("x" * 90 if form == tarfile.USTAR_FORMAT else "ä" * 90)):
                info = tarfile.TarInfo(name)
                info.size = 300
                stream.addfile(info, io.BytesIO(bytes(300)))
        found.append(out.getvalue())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("skill/SKILL.md", b"x" * 500)
        archive.writestr("skill/a", b"y")
    return [*found, out.getvalue()]


def checkpoints(*kinds: str) -> Callable[[], list[bytes]]:
    """Honest files of a kind from the tests' corpus, small enough to be read thousands of times."""

    def found() -> list[bytes]:
        from tests.checkpoints.corpus import honest_files

        every = [case for case in honest_files.cases() if case.kind in kinds and isinstance(case.content, bytes)]
        return [case.content for case in every if isinstance(case.content, bytes) and len(case.content) < 12_000]

    return found


def torch_tars() -> list[bytes]:
    """torch's oldest format, from the hostile corpus: its honest form needs no torch."""
    from tests.checkpoints.corpus import hostile_files

    return [data for _, _, data in hostile_files.tars()]


def skills() -> list[bytes]:
    """This bundle's own SKILL.md, and a front matter with everything that it may hold."""
    rich = (
        '---\nname: a-skill\ndescription: >-\n  Folded\n  text.\nlicense: MIT\ncompatibility: "Needs python3"\n'
        "metadata:\n  version: '1.0'\n  author: \"A: B\"\nallowed-tools: Read Bash\n---\n"
        "# Title\n\n[a](b.md)\n\n```bash\nls\n```\n"
    )
    return [(ROOT / "SKILL.md").read_bytes()[:4000], rich.encode()]


def headers() -> list[bytes]:
    """Headers of C environments."""
    return [path.read_bytes() for path in sorted((ROOT / "native_profile" / "pufferlib" / "ocean").glob("*/*.h"))][:3]


def machines() -> list[bytes]:
    """This machine."""
    from _skill import machine, strict_json

    return [strict_json.pretty(machine.measure(programs=False).as_json()).encode()]


# Readers


def _json(data: bytes, _: Path) -> Any:
    from _skill import strict_json

    return strict_json.loads(data, "input")


def _schema(data: bytes, _: Path) -> object:
    """A changed schema is checked; a good one then validates the shipped ones."""
    from _skill import strict_json
    from _skill.json_schema import Schema

    return Schema(strict_json.loads(data, "input")).findings({"schema": "plan/2", "files": [], "x": [1.5, "é", None]})


def _against_schemas(data: bytes, _: Path) -> object:
    """A changed document against every shipped schema."""
    from _skill import strict_json
    from _skill.json_schema import Schema

    document = strict_json.loads(data, "input")
    return [Schema.shipped(name).findings(document) for name in ("plan", "approval", "file_manifest", "audit_record")]


def _plan(data: bytes, _: Path) -> object:
    from _skill.plans import plan

    return plan.parse(data, "plan.json")


def _approval(data: bytes, _: Path) -> object:
    from _skill.gate import approval

    return approval.parse(data, "approval.json")


def _audit(path: str) -> object:
    from _skill.gate import audit_log

    return audit_log.verify(path)


def _manifest(data: bytes, _: Path) -> object:
    from _skill.manifests import file_manifest

    return file_manifest.parse(data, "manifest.json")


def _archive(path: str) -> object:
    from _skill.manifests import archive

    return archive.inspect(path)


def _inspect(path: str) -> object:
    from tests.checkpoints.judging import judge

    found = judge(Path(path))
    if found.status not in (0, 1, 2) or (found.status and not found.codes):
        raise AssertionError(found)
    return found


def _header(path: str) -> object:
    from _skill.plans import checkpoint_header

    return checkpoint_header.read(path)


def _front_matter(data: bytes, _: Path) -> object:
    from _skill.skills import front_matter, markdown

    content = data.decode("utf-8", "replace")
    found = front_matter.read(content, data)
    return found, markdown.links(markdown.parse(content)), markdown.anchors(content)


def _environment_header(data: bytes, _: Path) -> object:
    from _skill.plans import environment_header

    return environment_header.read(data, "input.h")


def _machine(path: str) -> object:
    from _skill import machine

    return machine.read(path)


READERS: tuple[Reader, ...] = (
    Reader("strict_json", lambda: [*plan_files(), *manifest_files()], _json, generated="json_text"),
    Reader("json_schema: schemas", schema_documents, _schema, ("SchemaError",), generated="json_text"),
    Reader(
        "json_schema: documents",
        lambda: [*plan_files(), *manifest_files(), *approval_files()],
        _against_schemas,
        generated="json_text",
    ),
    Reader("plan", plan_files, _plan, generated="json_text"),
    Reader("approval", approval_files, _approval),
    Reader("audit log", audit_logs, from_file(_audit, "audit.jsonl")),
    Reader("file manifest", manifest_files, _manifest),
    Reader("archive of a skill", archives, from_file(_archive)),
    Reader("machine", machines, from_file(_machine)),
    Reader("environment header", headers, _environment_header),
    Reader("SKILL.md", skills, _front_matter),
    Reader("safetensors", checkpoints("safetensors"), from_file(_inspect, "x.safetensors"), generated="safetensors"),
    Reader(
        "safetensors header of a plan",
        checkpoints("safetensors"),
        from_file(_header, "x.safetensors"),
        generated="safetensors",
    ),
    Reader(
        "pickle",
        checkpoints("pickle", "pickle of known data", "pickle of an old protocol"),
        from_file(_inspect, "x.pkl"),
        generated="pickle",
    ),
    Reader("torch zip", checkpoints("torch", "torch with known data"), from_file(_inspect, "x.pt")),
    Reader("torch, old form", checkpoints("old torch"), from_file(_inspect, "x.pth")),
    Reader("torch tar", torch_tars, from_file(_inspect, "x.tar")),
    Reader("npy", checkpoints("npy"), from_file(_inspect, "x.npy")),
    Reader("npz", checkpoints("npz"), from_file(_inspect, "x.npz")),
    Reader("GGUF", checkpoints("gguf"), from_file(_inspect, "x.gguf"), generated="gguf"),
)
