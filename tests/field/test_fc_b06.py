"""FC-B06: start method: missing main guard, threads before fork."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Tool
from .plan_files import PLAN_3, PLAN_4, changed, machine, write

GUARDED = '''"""An environment."""

import gymnasium


class Counter(gymnasium.Env):
    """Counts."""


def make_counter():
    return Counter()


make_lambda = lambda: Counter()
make_typed: object = lambda **settings: Counter()


def outer():
    def inner():
        return Counter()

    return inner


made = outer()


if __name__ == "__main__":
    make_counter()
'''


def check(tool: Tool, folder: Path, **changes: Any) -> Any:
    return tool("validate_plan", write(folder, changed(PLAN_3, changes)), "--machine", machine(folder))


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_every_method_that_is_said_is_accepted(tool: Tool, tmp_path: Path, method: str) -> None:
    answer = check(tool, tmp_path, **{"vectorization.start_method": method})
    assert answer.exit_status == 0, answer.text


def test_no_method_is_refused_and_no_default_is_taken(tool: Tool, tmp_path: Path) -> None:
    answer = check(tool, tmp_path, **{"vectorization.start_method": None})
    assert answer.exit_status == 1 and "spawn" in answer.finding("vector.start_method")["fix"]
    answer = check(tool, tmp_path, **{"vectorization.start_method": ...})
    assert answer.exit_status == 1
    assert answer.finding("profile.key_missing")["pointer"] == "/vectorization/start_method"


@pytest.mark.parametrize("method", ["Spawn", "fork_server", "forksever", "thread", "", "default"])
def test_an_unknown_method_is_refused(tool: Tool, tmp_path: Path, method: str) -> None:
    answer = check(tool, tmp_path, **{"vectorization.start_method": method})
    assert answer.exit_status == 1 and answer.finding("schema.enum")["pointer"] == "/vectorization/start_method"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"loggers": [{"kind": "jsonl"}, {"kind": "wandb", "mode": "offline"}]}, "wandb"),
        ({"loggers": [{"kind": "jsonl"}, {"kind": "tensorboard"}]}, "tensorboard"),
        ({"loggers": [{"kind": "jsonl"}, {"kind": "trackio"}]}, "trackio"),
        ({"device": "cuda"}, "cuda"),
        ({"compile": True}, "compile"),
        ({"distributed.world_size": 2, "distributed.backend": "gloo"}, "ranks"),
    ],
)
def test_a_fork_beside_threads_is_refused(tool: Tool, tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    answer = check(tool, tmp_path, **{"vectorization.start_method": "fork"}, **changes)
    assert answer.exit_status == 1
    finding = answer.finding("vector.fork_threads")
    assert why in finding["got"] and "forkserver" in finding["fix"]
    for method in ("spawn", "forkserver"):
        assert check(tool, tmp_path, **{"vectorization.start_method": method}, **changes).exit_status == 0


def test_a_disabled_logger_has_no_thread(tool: Tool, tmp_path: Path) -> None:
    loggers = [{"kind": "jsonl"}, {"kind": "wandb", "mode": "disabled"}]
    answer = check(tool, tmp_path, loggers=loggers, **{"vectorization.start_method": "fork"})
    assert answer.exit_status == 0, answer.text


@pytest.mark.parametrize("backend", ["serial", "threads"])
def test_a_method_without_processes_is_refused(tool: Tool, tmp_path: Path, backend: str) -> None:
    changes = {"vectorization.backend": backend, "vectorization.num_workers": 1}
    answer = check(tool, tmp_path, **changes, **{"vectorization.start_method": "fork"})
    assert "null" in answer.finding("vector.start_method_unneeded")["fix"]
    assert check(tool, tmp_path, **changes, **{"vectorization.start_method": None}).exit_status == 0


@pytest.mark.parametrize(
    ("name", "method", "status"),
    [
        ("Counter", "spawn", 0),
        ("make_counter", "forkserver", 0),
        ("make_lambda", "spawn", 1),
        ("make_lambda", "forkserver", 1),
        ("make_typed", "spawn", 1),
        ("made", "spawn", 1),
        ("make_lambda", "fork", 0),
        ("missing", "spawn", 1),
        ("make_count", "fork", 1),
    ],
)
def test_a_factory_that_cannot_be_sent_to_a_worker_is_refused_before_the_start(
    tool: Tool, tmp_path: Path, name: str, method: str, status: int
) -> None:
    source = tmp_path / "counter.py"
    source.write_text(GUARDED)
    changes = {"environment.name": name, "environment.source": str(source.resolve())}
    answer = check(tool, tmp_path, **changes, **{"vectorization.start_method": method})
    assert answer.exit_status == status, answer.text
    if status and name.startswith("ma"):
        wanted = "environment.factory" if name in ("missing", "make_count") else "environment.not_picklable"
        finding = answer.finding(wanted)
        assert finding["pointer"] == "/environment/name"
        if wanted == "environment.not_picklable":
            assert "picklable" in finding["message"]
    if name == "make_count":
        assert "make_counter" in answer.finding("environment.factory")["fix"]


@pytest.mark.parametrize(
    "statement",
    [
        "train()",
        "environments = vector.make(Counter, backend=Multiprocessing)",
        "pool = multiprocessing.Pool(4)",
        "for index in range(4):\n    multiprocessing.Process(target=Counter).start()",
        "with multiprocessing.Pool(2) as pool:\n    pool.map(print, [])",
        "if True:\n    train()",
        "try:\n    train()\nfinally:\n    pass",
    ],
)
def test_a_module_that_starts_something_when_imported_is_pointed_out(
    tool: Tool, tmp_path: Path, statement: str
) -> None:
    source = tmp_path / "counter.py"
    source.write_text(GUARDED.replace("if __name__", statement + "\n\nif __name__"))
    changes = {"environment.name": "Counter", "environment.source": str(source.resolve())}
    answer = check(tool, tmp_path, **changes, **{"vectorization.start_method": "spawn"})
    finding = answer.finding("environment.main_guard")
    assert "__main__" in finding["fix"] and "counter.py" in finding["pointer"]
    forked = check(tool, tmp_path, **changes, **{"vectorization.start_method": "fork"})
    assert "environment.main_guard" not in forked.codes


def test_a_module_with_a_guard_is_fine(tool: Tool, tmp_path: Path) -> None:
    source = tmp_path / "counter.py"
    source.write_text(GUARDED + "\n\nregister(id='Counter-v0', entry_point=Counter)\n")
    changes = {"environment.name": "Counter", "environment.source": str(source.resolve())}
    answer = check(tool, tmp_path, **changes)
    assert answer.exit_status == 0 and "environment.main_guard" not in answer.codes


@pytest.mark.parametrize(
    "content", [b"def broken(:\n", b"\xff\xfe\x00", b"x = " + b"(" * 5000, b"a\0b", b"x = 1" + b"+1" * 60000]
)
def test_a_source_that_cannot_be_read_is_never_a_pass(tool: Tool, tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "counter.py"
    source.write_bytes(content)
    changes = {"environment.name": "Counter", "environment.source": str(source.resolve())}
    answer = check(tool, tmp_path, **changes)
    assert answer.exit_status == 1
    assert {"environment.source_unreadable", "environment.factory"} & set(answer.codes)


def test_nothing_of_the_source_is_run(tool: Tool, tmp_path: Path) -> None:
    source, mark = tmp_path / "counter.py", tmp_path / "mark"
    source.write_text(f"open({str(mark)!r}, 'w')\n" + GUARDED)
    check(tool, tmp_path, **{"environment.name": "Counter", "environment.source": str(source.resolve())})
    assert not mark.exists()


def test_profile_4_starts_no_process_and_takes_no_method(tool: Tool, tmp_path: Path) -> None:
    path = write(tmp_path, changed(PLAN_4, {"vectorization.start_method": "fork"}))
    answer = tool("validate_plan", path)
    assert answer.exit_status == 1
    assert answer.finding("profile.key_unneeded")["pointer"] == "/vectorization/start_method"
