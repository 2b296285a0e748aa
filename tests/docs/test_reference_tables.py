"""The tables of environments.md and training.md say what the engine says: settings, log, run folder, environments."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pufferlib import checkpoint
from pufferlib.environments import find_header, load, names
from pufferlib.plan import make_plan
from pufferlib.train_settings import TRAIN_SETTINGS, TrainSetting
from pufferlib.training import Run

ROOT = Path(__file__).resolve().parents[2]


def rows(document: str, heading: str, table: int = 0) -> dict[str, list[str]]:
    """A table under a second-level heading: the names in its first column to the other cells, without backticks."""
    text = (ROOT / "references" / document).read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"{document} has no section {heading!r}"
    tables = re.findall(r"(?:^\|.*\|\n)+", section[1], re.MULTILINE)
    cells = [[c.strip().replace("`", "") for c in line.strip("|\n").split("|")] for line in tables[table].splitlines()]
    return {name: row[1:] for row in cells[2:] for name in row[0].split(", ")}


def bounds(setting: TrainSetting) -> str:
    if setting.kind == "choice":
        return ", ".join(setting.choices)
    if setting.kind == "return":
        return "a number or null"
    return f"{setting.low} to {setting.high}"


def test_the_table_of_settings_is_the_engine_s() -> None:
    table = rows("training.md", "Settings")
    assert list(table) == list(TRAIN_SETTINGS)
    for setting in TRAIN_SETTINGS.values():
        default, shown_bounds, meaning, advice = table[setting.name]
        assert default == ("null" if setting.default is None else str(setting.default)), setting.name
        assert shown_bounds == bounds(setting), setting.name
        assert meaning and advice


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of a moment."""
    folder = tmp_path_factory.mktemp("documented-run")
    plan = make_plan("cartpole", None, "documented", {"total_timesteps": 8192, "target_return": None}, {}, {}, 1)
    content = json.dumps(plan).encode()
    (folder / "plan.json").write_bytes(content)
    assert Run(plan, content, folder).execute() == 0
    return folder


def test_the_table_of_the_log_has_a_row_for_every_field_of_a_real_line(run_dir: Path) -> None:
    line = json.loads((run_dir / checkpoint.MANIFEST).with_name("metrics.jsonl").read_text().splitlines()[0])
    table = rows("training.md", "metrics.jsonl")
    assert list(table) == list(line)
    assert all(cells[0] for cells in table.values())


def test_the_line_that_is_shown_has_the_fields_of_a_real_one(run_dir: Path) -> None:
    text = (ROOT / "references" / "training.md").read_text(encoding="utf-8")
    shown = re.search(r"^## metrics\.jsonl\n.*?```json\n(.*?)```", text, re.MULTILINE | re.DOTALL)
    assert shown
    line = json.loads((run_dir / "metrics.jsonl").read_text().splitlines()[0])
    documented = json.loads(shown[1])
    assert list(documented) == list(line)
    assert list(documented["statistics"]) == list(line["statistics"])


def test_the_table_of_the_manifest_has_a_row_for_every_key(run_dir: Path) -> None:
    manifest = json.loads((run_dir / checkpoint.MANIFEST).read_text())
    table = rows("training.md", "Checkpoints and resume", 1)
    # schema and run stand in every file; what they are is said in plan.md, and reason in the row of status.
    assert set(table) == set(manifest) - {"schema", "run", "reason"}
    for part in ("checkpoint", "evaluation", "seconds"):
        for key in manifest[part]:
            assert key in table[part][0], f"{part}.{key}"


def test_the_table_of_a_checkpoint_covers_every_tensor(run_dir: Path) -> None:
    patterns = [p.removesuffix("*") for p in rows("training.md", "Checkpoints and resume")]
    found = checkpoint.latest(run_dir)
    assert found is not None
    for name in found[1].tensors:
        assert any(name.startswith(p) for p in patterns), name
    for p in patterns:
        assert any(name.startswith(p) for name in found[1].tensors), p


def _spaces(e: dict[str, Any]) -> list[str]:
    shape = ", ".join(map(str, e["observation"]["shape"]))
    kind = e["action"]["type"].replace("_", "-")
    sizes = ", ".join(map(str, e["action"]["sizes"]))
    return [
        f"{e['observation']['dtype']} ({shape})",
        f"{kind} {sizes}",
        str(e["agents"]),
        str(e["state_bytes"]),
        e["task"],
    ]


def test_the_table_of_shipped_environments_is_what_they_say_of_themselves() -> None:
    table = rows("environments.md", "Shipped environments")
    assert list(table) == names()
    for name, cells in table.items():
        assert cells[:5] == _spaces(load(find_header(name)).describe()), name


def test_every_flag_of_train_is_in_the_table_of_flags(run: Callable[..., Any]) -> None:
    text = " ".join(" ".join([flag, *cells]) for flag, cells in rows("training.md", "Start").items())
    helped = run(
        [sys.executable, "-m", "pufferlib", "train", "--help"], env={"PYTHONPATH": str(ROOT / "native_profile")}
    ).stdout
    for flag in set(re.findall(r"--[a-z][\w.-]*", helped)) - {"--help"}:
        assert flag in text or flag.startswith(("--train.", "--env.")), flag
