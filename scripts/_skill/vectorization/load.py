"""The synthetic load: what one step of an environment costs, how that cost varies, and how large an observation is.

A heavy tail is given by 512 costs at equally spaced quantiles, scaled so that their mean is exact. Every environment
goes through the same costs in an order of its own: two settings are compared on the same work, whatever the tail.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .. import text
from ..findings import COULD_NOT, Finding, Refusal

WORK = {
    "burn": "Python instructions, which hold the interpreter's lock",
    "native": "compiled code that releases the lock (SHA-256)",
    "sleep": "waiting, as for a simulator in another process",
}
TAILS = ("constant", "lognormal", "pareto")
QUANTILES = 512
HEADER_BYTES = 16
"""The first bytes of an observation: a drawn number and the step count, eight bytes each."""
LONGEST_STEP_US = 1_000_000.0
LARGEST_OBSERVATION = 1 << 26


class Load(NamedTuple):
    """What the synthetic environments do."""

    work: str
    step_us: float
    """Mean cost of one step, microseconds."""
    tail: str
    """`constant`, `lognormal:SIGMA` or `pareto:ALPHA`."""
    reset_us: float
    """Cost of one reset, microseconds; paid within the step that ends an episode."""
    observation_bytes: int
    episode_steps: int

    def as_json(self) -> dict[str, Any]:
        """The load as one flat JSON object."""
        return dict(self._asdict())


def step_costs(load: Load) -> list[float]:
    """The costs of a step at QUANTILES equally spaced quantiles, ascending, microseconds; their mean is `step_us`."""
    name, parameter = _tail(load.tail)
    middles = [(index + 0.5) / QUANTILES for index in range(QUANTILES)]
    if name == "constant" or load.step_us == 0:
        return [load.step_us]
    if name == "pareto":
        raw = [(1.0 - middle) ** (-1.0 / parameter) for middle in middles]
    else:
        from statistics import NormalDist

        normal = NormalDist()
        raw = [math.exp(parameter * normal.inv_cdf(middle)) for middle in middles]
    scale = load.step_us / (math.fsum(raw) / QUANTILES)
    return [scale * cost for cost in raw]


def check(load: Load) -> None:
    """Refuses a load that means nothing or that no bound could hold (exit 2)."""
    problems = []
    if not 0 <= load.step_us <= LONGEST_STEP_US:
        problems.append(("--step-us", f"{load.step_us:g}", f"0 to {LONGEST_STEP_US:.0f}"))
    if not 0 <= load.reset_us <= LONGEST_STEP_US:
        problems.append(("--reset-us", f"{load.reset_us:g}", f"0 to {LONGEST_STEP_US:.0f}"))
    if not HEADER_BYTES <= load.observation_bytes <= LARGEST_OBSERVATION:
        got = str(load.observation_bytes)
        problems.append(("--observation-bytes", got, f"{HEADER_BYTES} to {LARGEST_OBSERVATION}"))
    if not 1 <= load.episode_steps <= 10**9:
        problems.append(("--episode-steps", str(load.episode_steps), "1 to 1000000000"))
    if not problems:
        longest = step_costs(load)[-1]
        if longest > 2 * LONGEST_STEP_US:
            problems.append(("--tail", f"a longest step of {longest / 1e6:.1f} s", "at most 2 s"))
    if problems:
        raise Refusal(
            *(
                Finding("vectorization.load", f"{name} is out of range", name, got, want)
                for name, got, want in problems
            ),
            exit_status=COULD_NOT,
        )


def _tail(words: str) -> tuple[str, float]:
    """Name and parameter of a tail; anything else is refused (exit 2)."""
    name, _, number = words.partition(":")
    bounds = {"lognormal": (0.01, 3.0), "pareto": (1.05, 100.0)}
    try:
        parameter = float(number) if number else 0.0
    except ValueError:
        parameter = math.nan
    if name == "constant" and not number:
        return name, 0.0
    if name in bounds and bounds[name][0] <= parameter <= bounds[name][1]:
        return name, parameter
    raise Refusal(
        Finding(
            "vectorization.load",
            "--tail names no distribution of step costs",
            "--tail",
            text.shown(words),
            "constant, lognormal:SIGMA (0.01 to 3) or pareto:ALPHA (1.05 to 100)",
            "--tail lognormal:1.0",
        ),
        exit_status=COULD_NOT,
    )
