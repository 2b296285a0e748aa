"""Checks of environments against their contract: what an environment says about itself is what it does."""
