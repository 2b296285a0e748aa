"""Child processes: limits, watching, and an end in bounded time."""
