"""``puffer build``: compile now rather than at first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..build import build_engine, build_environment, cache_folder
from ..environments import find_header, names

if TYPE_CHECKING:
    from . import Parser

HELP = """Compile the engine and environments into the cache.

  puffer build              the engine and every built-in environment
  puffer build cartpole     the engine and one environment"""


def run(parser: Parser, words: list[str]) -> int:
    """Builds what is not in the cache yet."""
    parser.add_argument("env", nargs="*", help="environments (default: all built-in ones)")
    parser.add_argument("--env-path", metavar="DIR", help="folder that holds an environment's header")
    arguments = parser.parse_args(words)
    headers = [find_header(name, arguments.env_path) for name in arguments.env or names()]
    for name, library in [("engine", build_engine()), *((h.stem, build_environment(h)) for h in headers)]:
        took = f"built in {library.seconds:.1f} s" if library.seconds else "in the cache"
        print(f"{name:14}{took:18}{library.sha256[:16]}")
    print(f"cache: {cache_folder()}")
    return 0
