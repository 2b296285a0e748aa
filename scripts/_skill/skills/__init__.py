"""Checks of agent skill bundles: front matter, budgets, links, hidden text, programs. Reads only, runs nothing."""
