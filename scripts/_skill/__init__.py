"""Private package shared by the command-line tools in `scripts/`; standard library only.

Each module has one subject and imports what is slow to load inside the function that needs it, so that
every tool's `--help` stays instant. Nothing here imports `native_profile`: the engine runs only as a
child process that the gate starts.
"""

VERSION = "0.2.0"
