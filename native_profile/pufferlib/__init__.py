"""PufferLib's shape, written anew: C environments and a compiled PPO trainer.

An independent implementation. Importing this package loads nothing heavy and builds nothing; the engine is compiled the
first time that something needs it.
"""

# The name that type checkers take for true; `typing` itself would load 25 modules.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .puffer_env import PufferEnv as PufferEnv
    from .spaces import APIUsageError as APIUsageError

__version__ = "0.2.0"


def __getattr__(name: str) -> object:
    """`PufferEnv`, when somebody asks for it: its module is not read before."""
    if name in ("PufferEnv", "APIUsageError"):
        from . import puffer_env

        return getattr(puffer_env, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
