"""Curves: few rows are drawn as they are, many are thinned without losing a spike, bad rows are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pufferlib.report import metrics, write_report

from .report_run import metric_rows


def write_rows(path: Path, count: int) -> None:
    with path.open("w") as stream:
        for k in range(1, count + 1):
            spike = 1e6 if k == 12_345 else k / count
            stream.write(f'{{"step":{64 * k},"seconds":{k / 1000},"return":{spike},"value_loss":{k % 7}}}\n')


def test_few_rows_are_kept_one_by_one(tmp_path: Path) -> None:
    rows = metric_rows("cartpole", 300)
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = metrics.read_curves(tmp_path / "metrics.jsonl").columns()
    assert columns["mean"]["step"] == [row["step"] for row in rows]
    assert columns["mean"]["return"] == [
        v if v is None else pytest.approx(v, rel=1e-5) for v in (r["return"] for r in rows)
    ]
    assert columns["mean"]["statistics.balanced"][0] is None
    assert columns["low"] == {}


def test_many_rows_are_thinned_and_the_spike_is_still_there(tmp_path: Path) -> None:
    write_rows(tmp_path / "metrics.jsonl", 60_000)
    columns = metrics.read_curves(tmp_path / "metrics.jsonl").columns()
    assert columns["rows"] == 60_000
    assert 300 <= len(columns["mean"]["step"]) <= 600
    assert max(columns["high"]["return"]) == 1e6
    assert (min(columns["low"]["value_loss"]), max(columns["high"]["value_loss"])) == (0, 6)
    assert columns["mean"]["step"] == sorted(columns["mean"]["step"])
    assert write_report(tmp_path).stat().st_size < 300_000


def test_of_a_huge_file_every_nth_row_and_the_last_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(tmp_path / "metrics.jsonl", 5_000)
    monkeypatch.setattr(metrics, "FULL_READ", 100_000)
    curves = metrics.read_curves(tmp_path / "metrics.jsonl")
    assert curves.every >= 3
    assert curves.last["step"] == 64 * 5_000
    assert abs(curves.rows - 5_000 / curves.every) <= 2
    assert any(f"one row in {curves.every} was read" in note for note in curves.notes)


@given(st.integers(1, 2_500))
def test_means_over_all_points_equal_the_mean_over_all_rows(count: int) -> None:
    point_cap = 8
    points: list[metrics.Point] = []
    width = 1
    for k in range(count):
        width = metrics.append(points, {"value": float(k)}, width, point_cap)
    assert len(points) <= point_cap
    assert sum(point.rows for point in points) == count
    assert sum(point.total["value"] for point in points) == count * (count - 1) / 2
    assert all(point.high["value"] - point.low["value"] == point.rows - 1 for point in points)
    assert all(point.rows == width for point in points[:-1])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{}\n", "row 2: step is not a finite number"),
        (b"not json\n", "row 2: not JSON"),
        (b"[]\n", "row 2: not an object"),
        (b'{"step":true,"seconds":1}\n', "row 2: step is not a finite number"),
        (b'{"step":NaN,"seconds":1}\n', "row 2: step is not a finite number"),
        (b'{"step":' + b"9" * 5000 + b',"seconds":1}\n', "row 2"),
        (b"\xff\n", "row 2: not JSON"),
        (b"[" * 60_000 + b"\n", "row 2"),
        (b" " * 200_000 + b"\n", "row 2 is longer than 65,536 bytes"),
        (b'{"step":3,"seconds":0}\n', "1 rows of metrics.jsonl do not advance the step count"),
        (b'{"step":9,"seconds":1,"entropy":NaN}\n', "1 values of metrics.jsonl are not finite numbers"),
        (b'{"step":9,"seconds":1,"entropy":"high"}\n', "1 values of metrics.jsonl are not finite numbers"),
        (b'{"step":9,"sec', "The last row of metrics.jsonl is cut off"),
    ],
)
def test_bad_rows_are_left_out_and_named(tmp_path: Path, line: bytes, said: str) -> None:
    good = b'{"step":%d,"seconds":%d,"return":1.0}\n'
    after = b"" if not line.endswith(b"\n") else good % (10, 10)
    (tmp_path / "metrics.jsonl").write_bytes(good % (5, 5) + line + after)
    curves = metrics.read_curves(tmp_path / "metrics.jsonl")
    assert any(said in note for note in curves.notes), curves.notes
    steps = curves.columns()["mean"]["step"]
    assert steps[0] == 5 and (not after or steps[-1] == 10)


def test_there_are_never_more_statistics_than_the_page_shows(tmp_path: Path) -> None:
    row = {"step": 1, "seconds": 1, "statistics": {f"s{k}": k for k in range(500)}}
    (tmp_path / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    curves = metrics.read_curves(tmp_path / "metrics.jsonl")
    assert len(curves.statistics) == metrics.MAX_STATISTICS
