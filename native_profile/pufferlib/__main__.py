"""``python3 -m pufferlib``, and ``puffer`` once installed."""

import sys


def main() -> int:
    """The command line. Ctrl-C while its modules are still being loaded ends quietly, too."""
    try:
        from .cli import main as command_line

        return command_line()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
