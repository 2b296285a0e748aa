"""FC-D02 · Safe load fails, so the loader tries the unsafe one.

A checkpoint that is refused stays refused: nothing tries again with a weaker check, no option turns a check off, and
nothing in the bundle can load code from a file.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import pickle
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..scripts.gate_bundle import ROOT, Bundle, build_bundle


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return build_bundle(tmp_path / "bundle")


class Harmless:
    """One unknown, harmless global: unpickling would return the working folder."""

    def __reduce__(self) -> tuple:
        return os.getcwd, ()


def torch_zip(data: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("model/data.pkl", data)
        archive.writestr("model/version", "3\n")
    return stream.getvalue()


FILES = {
    "raw pickle": pickle.dumps({"w": Harmless()}),
    "raw pickle without code": pickle.dumps({"w": [1.0, 2.0]}),
    "torch file": torch_zip(pickle.dumps({"w": Harmless()}, protocol=2)),
    "numpy file": b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(128) + b"\n",
    "cut file": (100).to_bytes(8, "little") + b'{"w":{"dtype":"F32","shape":[1]',
    "safetensors and a pickle": (2).to_bytes(8, "little") + b"{}" + pickle.dumps(Harmless()),
    "empty": b"",
    "text": b"weights",
}


@pytest.mark.parametrize(("name", "kind"), [("x.safetensors", kind) for kind in FILES] + [("x.pt", "torch file")])
def test_a_launch_from_weights_that_were_not_found_safe_is_refused(bundle: Bundle, kind: str, name: str) -> None:
    path = bundle.root.parent / name
    path.write_bytes(FILES[kind])
    bundle.plan()
    plan = json.loads((bundle.work / "plan.json").read_text())
    digest = hashlib.sha256(FILES[kind]).hexdigest()
    plan["start"] = {"kind": "warm", "checkpoint": str(path), "sha256": digest}
    (bundle.work / "plan.json").write_text(json.dumps(plan))
    before = bundle.files()
    for words in (("launch", "run", "--plan", "plan.json", "--opt-in"), ("approve", "plan.json", "--by", "Ada")):
        report = bundle.json(*words)
        # Asked again, the answer is the same.
        assert report["exit_status"] in (1, 2) and bundle.json(*words)["findings"] == report["findings"]
        places = [finding["pointer"] for finding in report["findings"] if finding["severity"] == "error"]
        assert places and all(place.startswith("/start") or place == str(path) for place in places)
    assert bundle.files() == before


@pytest.mark.parametrize("script", sorted(path.stem for path in (ROOT / "scripts").glob("*.py")))
def test_no_option_of_any_script_weakens_a_check(bundle: Bundle, script: str) -> None:
    result = bundle.run(script, "--help")
    options = set(re.findall(r"--[a-z][a-z-]*", result.stdout))
    weak = re.compile("unsafe|insecure|no-check|skip|no-verify|trust|weights-only|ignore|force")
    assert [option for option in sorted(options) if weak.search(option)] == []


WEAK_CALLS = {
    "pickle": None, "cPickle": None, "dill": None, "cloudpickle": None, "joblib": None, "marshal": None, "shelve": None,
    "_pickle": None, "pickle5": None,
}  # fmt: skip
"""Modules that run what a file says; none is imported where the bundle reads files."""


def product() -> Iterator[tuple[Path, ast.Module]]:
    for folder in ("scripts", "native_profile/pufferlib"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_text())


def test_nothing_in_the_bundle_unpickles() -> None:
    found = []
    for path, tree in product():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            found += [f"{path!s}: {name}" for name in names if name.split(".")[0] in WEAK_CALLS]
    # multiprocessing and copyreg are not loaders of files.
    assert found == []


def test_no_call_loads_with_a_protection_off_or_tries_again_without_it() -> None:
    found = []
    for path, tree in product():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                loads = isinstance(node.func, ast.Attribute) and "load" in node.func.attr
                for keyword in node.keywords if loads else ():
                    value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                    if (keyword.arg, value) in (("weights_only", False), ("allow_pickle", True), ("strict", False)):
                        found.append(f"{path}:{node.lineno}: {keyword.arg}={value!r}")
                if isinstance(node.func, ast.Attribute) and node.func.attr in ("load", "loads"):
                    owner = node.func.value
                    if isinstance(owner, ast.Name) and owner.id == "torch":
                        safe = any(k.arg == "weights_only" for k in node.keywords)
                        found += [] if safe else [f"{path}:{node.lineno}: torch.load without weights_only"]
            # A handler that loads again is the fallback that this case is about.
            if isinstance(node, ast.ExceptHandler):
                calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
                for call in calls:
                    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
                    if name in ("load", "unpickle", "load_state_dict"):
                        found.append(f"{path}:{call.lineno}: {name} in an exception handler")
    assert found == []
