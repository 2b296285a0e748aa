"""Who is measured in training: our engine, our whole gate, and each peer in its own virtual environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from _bench.process import Measured
from _bench.runs import UnreadableRun, read_run

ROOT = Path(__file__).resolve().parents[2]
PEER_PROGRAMS = Path(__file__).resolve().parents[1] / "peers"
HOW_TO_INSTALL = "python3 benchmarks/peers/make_peers.py --peers DIR --only {name}"
CARTPOLE_TARGET = 475.0

Read = Callable[[Measured, Path], dict[str, Any]]


class Failed(Exception):
    """A contender ran and gave no result; the text is for the report."""


@dataclass(frozen=True)
class Contender:
    """One row of a table: how to run it once, and how to read what it measured.

    `command` takes the seed and an empty folder of the run's own. `missing` says why it cannot run, and what to do.
    """

    key: str
    label: str
    ours: bool
    environment: str
    command: Callable[[int, Path], Sequence[str]]
    read: Read
    variables: dict[str, str] = field(default_factory=dict)
    missing: str | None = None
    limit_seconds: float = 300.0
    target: float | None = None
    # Cores that it leaves idle, which others may use without disturbing it much.
    spare_cores: float = 0.0
    # Multiply-adds x 2 that the training needs for one environment step, where the network is known.
    flop_per_step: float | None = None

    def environment_variables(self) -> dict[str, str]:
        """The caller's, with no bytecode written into the checkout, plus this contender's own."""
        return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1", **self.variables}


def dense_flop(widths: Sequence[int]) -> float:
    """Operations of one forward pass of dense layers of these widths, one row."""
    return float(sum(2 * inputs * outputs for inputs, outputs in pairwise(widths)))


def training_flop(forward: float, epochs: int, first_layer: float) -> float:
    """Operations for one environment step: one forward in the rollout; an epoch is a forward and a backward pass.

    The backward pass is two forwards, less the gradient of the inputs, which nobody needs: ``first_layer`` operations.
    """
    return forward * (1 + 3 * epochs) - first_layer * epochs


def last_lines(measured: Measured) -> str:
    """The end of what a failed process said."""
    text = (measured.error_output.strip() or measured.output.strip())[-400:]
    return " / ".join(line.strip() for line in text.splitlines()[-3:])


def read_peer(measured: Measured, _: Path) -> dict[str, Any]:
    """A peer's program prints one line of JSON."""
    line = measured.json_line()
    if measured.exit_status != 0 or line is None:
        raise Failed(f"exit status {measured.exit_status}: {last_lines(measured)}")
    return line


def read_ours(target: float | None, where: Callable[[Path], Path]) -> Read:
    """Our runs leave a folder; `where` finds it below the run's own folder."""

    def read(measured: Measured, folder: Path) -> dict[str, Any]:
        if measured.exit_status not in (0, 1):
            raise Failed(f"exit status {measured.exit_status}: {last_lines(measured)}")
        try:
            return read_run(where(folder), target)
        except UnreadableRun as error:
            raise Failed(f"exit status {measured.exit_status}, {error}: {last_lines(measured)}") from error

    return read


def peer(
    key: str,
    label: str,
    environment: str,
    name: str,
    peers: Path | None,
    program: str,
    arguments: Sequence[str],
    flop_per_step: float | None = None,
    limit_seconds: float = 300.0,
    target: float | None = None,
    spare_cores: float = 0.0,
) -> Contender:
    """A contender that is a program of `benchmarks/peers` in the virtual environment `name`."""
    interpreter = None if peers is None else peers / name / "bin" / "python"
    missing = None
    if interpreter is None or not interpreter.exists():
        missing = "not installed: " + HOW_TO_INSTALL.format(name=name)
    python = str(interpreter)

    def command(seed: int, _: Path) -> list[str]:
        return [python, str(PEER_PROGRAMS / program), *arguments, "--seed", str(seed)]

    return Contender(
        key,
        label,
        False,
        environment,
        command,
        read_peer,
        missing=missing,
        limit_seconds=limit_seconds,
        flop_per_step=flop_per_step,
        target=target,
        spare_cores=spare_cores,
    )


def peers_in_cartpole(peers: Path | None) -> list[Contender]:
    """The peers on CartPole: to solve it, and for steps per second."""
    two_networks = dense_flop((4, 64, 64, 2)) + dense_flop((4, 64, 64, 1))
    their_first = 2 * dense_flop((4, 64))
    lstm = 2.0 * (4 * 128 + 4 * 128 * (128 + 128) + 128 * 3)
    train = "pufferlib3_train.py"
    return [
        peer("jax", "JAX PPO, wide (gymnax)", "cartpole", "jax", peers, "jax_cartpole.py", ["--settings", "wide"],
             training_flop(two_networks, 4, their_first), target=CARTPOLE_TARGET),
        peer("jax-4x128", "JAX PPO, PureJaxRL's settings (gymnax)", "cartpole", "jax", peers, "jax_cartpole.py",
             ["--settings", "purejaxrl"], training_flop(two_networks, 4, their_first), target=CARTPOLE_TARGET),
        peer("sb3", "stable-baselines3, zoo-tuned", "cartpole", "sb3", peers, "sb3_cartpole.py", [],
             training_flop(two_networks, 20, their_first), target=CARTPOLE_TARGET),
        peer("pufferlib3-mlp", "pufferlib 3.0.0, MLP 128", "cartpole", "pufferlib3", peers, train,
             ["cartpole", "--network", "mlp"], training_flop(dense_flop((4, 128, 3)), 1, dense_flop((4, 128)))),
        peer("pufferlib3-lstm", "pufferlib 3.0.0, its default (LSTM 128)", "cartpole", "pufferlib3", peers, train,
             ["cartpole", "--network", "lstm"], training_flop(lstm, 1, dense_flop((4, 128)))),
    ]  # fmt: skip


def peers_in_breakout(peers: Path | None) -> list[Contender]:
    """pufferlib 3.0.0 on its Breakout, three epochs, for steps per second."""
    lstm = 2.0 * (118 * 128 + 4 * 128 * (128 + 128) + 128 * 4)
    train = "pufferlib3_train.py"
    return [
        peer("pufferlib3-breakout-mlp", "pufferlib 3.0.0, MLP 128", "breakout", "pufferlib3", peers, train,
             ["breakout", "--network", "mlp"], training_flop(dense_flop((118, 128, 4)), 1, dense_flop((118, 128)))),
        peer("pufferlib3-breakout-lstm", "pufferlib 3.0.0, its default (LSTM 128)", "breakout", "pufferlib3", peers,
             train, ["breakout", "--network", "lstm"], training_flop(lstm, 1, dense_flop((118, 128)))),
    ]  # fmt: skip
