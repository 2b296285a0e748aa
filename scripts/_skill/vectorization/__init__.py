"""Measures ways to step environments side by side, on a synthetic load: see `references/vectorization.md`."""
