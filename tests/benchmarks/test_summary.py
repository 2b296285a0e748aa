from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _bench import summary

numbers = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30)


@given(numbers)
def test_spread_agrees_with_the_standard_library(values):
    found = summary.spread(values)
    assert found is not None
    assert found.median == pytest.approx(statistics.median(values))
    assert (found.low, found.high, found.count) == (min(values), max(values), len(values))
    if len(values) > 1:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        assert found.quarter == pytest.approx(low, abs=1e-6)
        assert found.three_quarters == pytest.approx(high, abs=1e-6)
        assert found.middle_half == pytest.approx(high - low, abs=1e-6)


def test_values_that_are_not_there_do_not_count():
    found = summary.spread([None, 3.0, None, 1.0])
    assert found is not None and (found.count, found.median) == (2, 2.0)
    assert summary.spread([None]) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.4821, "0.482"),
        (475.0, "475"),
        (1.25, "1.25"),
        (999.4, "999"),
        (999.9, "1.00K"),
        (62_200, "62.2K"),
        (999_600, "1.00M"),
        (36_420_000, "36.4M"),
        (1.2e9, "1.20G"),
        (0, "0"),
        (None, "-"),
    ],
)
def test_a_number_is_short_and_never_in_exponent_form(value, text):
    assert summary.number(value) == text


@given(st.floats(1e-3, 1e12))
def test_a_shown_number_is_near_the_number(value):
    shown = summary.number(value)
    factor = {"K": 1e3, "M": 1e6, "G": 1e9}.get(shown[-1], 1.0)
    assert float(shown.rstrip("KMG")) * factor == pytest.approx(value, rel=0.006, abs=6e-4)


def test_a_spread_is_shown_with_its_extremes():
    assert summary.with_spread(summary.spread([1.0, 2.0, 4.0])) == "2.00 (1.00-4.00)"
    assert summary.with_spread(summary.spread([2.0])) == "2.00"
    assert summary.with_spread(None) == "-"


def test_a_ratio_needs_two_numbers():
    assert summary.ratio(13.9, 0.5) == "x 27.8"
    assert summary.ratio(None, 1.0) == summary.ratio(1.0, None) == summary.ratio(1.0, 0.0) == "-"


def test_a_table_is_markdown_whose_columns_line_up():
    text = summary.table(["name", "steps/s"], [["ours", "8.1M"], ["a | peer", "-"]])
    lines = text.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1].startswith("| ---") and lines[1].endswith(": |")
    assert all(line.count("|") == 3 for line in lines)


def test_a_row_of_the_wrong_width_is_refused():
    with pytest.raises(ValueError, match="a row has 1 cells"):
        summary.table(["a", "b"], [["x"]])


def test_disturbed_runs_count_only_when_there_is_no_clean_one():
    clean, disturbed = {"clean": True, "n": 1}, {"clean": False, "n": 2}
    assert summary.clean_or_all([disturbed, clean]) == ([clean], False)
    assert summary.clean_or_all([disturbed]) == ([disturbed], True)
    assert summary.clean_or_all([]) == ([], False)


@pytest.mark.parametrize(
    ("other", "stolen", "spare", "clean"),
    [
        (0.0, 0.0, 0.0, True),
        (0.4, 0.0, 0.0, False),
        (0.4, 0.0, 1.0, True),
        (1.4, 0.0, 1.0, False),
        (0.0, 0.2, 0.0, False),
        (None, None, 0.0, True),
    ],
)
def test_what_counts_as_a_clean_run(other, stolen, spare, clean):
    assert summary.is_clean({"other_cores": other, "stolen_cores": stolen}, spare) is clean
