"""Bounds on the work that a file can ask for. Beyond one of them the answer is "could not check" (exit 2)."""

from __future__ import annotations

WINDOW = 1 << 16
"""Bytes read at once where a format is read piece by piece."""
BLOCK = 1 << 20
"""Bytes read at once where a file is hashed or copied."""

PICKLE_OPCODES = 600_000
PICKLE_CONTAINERS = 120_000
PICKLE_MEMO = 250_000
PICKLE_STRING = 1 << 16
"""A longer string or bytes object is skipped; only its length is kept."""
PICKLE_TEXT = 4 << 20
"""All strings kept of one file, in bytes."""
PICKLE_NAME = 1024
PICKLE_INTEGER = 1024
"""Bytes of one integer."""
PICKLE_STREAMS = 16
"""Pickles that follow one another in one file."""
PROBE_OPCODES = 20_000
"""Opcodes of the test whether a file of another kind is a pickle, too."""

NODES = 400_000
"""Values that are visited when the content is listed."""
TENSORS = 60_000
DEPTH = 64
NAME = 1000
"""Characters of one tensor's name."""
DIMENSIONS = 64

ZIP_MEMBERS = 50_000
ZIP_DIRECTORY = 12 << 20
ZIP_INFLATED = 8 << 20
"""Bytes of one compressed member that are held in memory."""
ZIP_RATIO = 200
ZIP_TOTAL = 1 << 28
"""Bytes that all compressed members may become together where they are packed tighter than the ratio."""

TAR_MEMBERS = 10_000

SAFETENSORS_HEADER = 2 << 20
SAFETENSORS_BRACKETS = 100_000
"""Opening brackets and braces of a header: three for each tensor."""
SAFETENSORS_REFERENCE = 100_000_000
"""Where the reference library stops: a longer header is a broken file for everybody."""

NPY_HEADER = 1 << 16

GGUF_ITEMS = 600_000
GGUF_TEXT = 24 << 20

FINDINGS = 400
"""Findings that are kept of one file."""
GLOBALS = 400
METADATA = 100
"""Entries of metadata that are shown."""
