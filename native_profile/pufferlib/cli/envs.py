"""``puffer envs``: every environment in a table, one in full, or all of it as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..environments import Environment, find_header, load, names

if TYPE_CHECKING:
    from . import Parser

HELP = """List the environments, or show one in full.

  puffer envs               a table
  puffer envs cartpole      spaces, settings with defaults and bounds, statistics
  puffer envs --json        everything, for programs"""


def run(parser: Parser, words: list[str]) -> int:
    """Prints environments."""
    parser.add_argument("env", nargs="?", help="show this one in full")
    parser.add_argument("--env-path", metavar="DIR", help="folder that holds the environment's header")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args(words)
    chosen = [arguments.env] if arguments.env else names()
    environments = [load(find_header(name, arguments.env_path)) for name in chosen]
    if arguments.json:
        print(json.dumps([e.describe() for e in environments], indent=2))
    elif arguments.env:
        print(page(environments[0]))
    else:
        rows: list[tuple[str, ...]] = [
            (e.name, _observation(e), _action(e), str(e.agents), e.task) for e in environments
        ]
        print(_table([("name", "observation", "action", "agents", "task"), *rows]))
    return 0


def page(e: Environment) -> str:
    """One environment as a person reads it."""
    lines = [f"{e.title}: {e.task}", ""]
    lines += [f"  observation  {_observation(e)}", f"  action       {_action(e)}", f"  agents       {e.agents}"]
    lines += [f"  state        {e.state_bytes} bytes", f"  author       {e.author}", "", "settings (--env.NAME VALUE)"]
    rows: list[tuple[str, ...]] = [("name", "default", "from", "to", "meaning")]
    rows += [(s.name, f"{s.default:g}", f"{s.low:g}", f"{s.high:g}", s.help) for s in e.settings]
    lines += ["  " + line for line in _table(rows).splitlines()]
    lines += ["", "statistics, means over finished episodes" if e.statistics else "no statistics"]
    lines += ["  " + line for line in _table([(s.name, s.help) for s in e.statistics]).splitlines()]
    return "\n".join(lines)


def _observation(e: Environment) -> str:
    return f"{e.observation_dtype}({', '.join(map(str, e.observation_shape))})"


def _action(e: Environment) -> str:
    kind = "discrete" if len(e.action_sizes) == 1 else "multi_discrete"
    return f"{kind}({', '.join(map(str, e.action_sizes))})"


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) if rows else 0)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
