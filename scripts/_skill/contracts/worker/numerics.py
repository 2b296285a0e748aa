"""numpy, looked up in the user's interpreter: the session makes sure that it is there before this is loaded."""

from __future__ import annotations

import importlib
from typing import Any

np: Any = importlib.import_module("numpy")
