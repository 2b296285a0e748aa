"""A stand-in for the engine, small enough to show every way in which a child can end."""
