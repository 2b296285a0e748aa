"""Checkpoints that are built, never stored: hostile ones, each with the kind of trick it is, and honest ones.

Nothing here is ever loaded. Where a hostile file names something to call, it is a harmless callable or a harmless
argument (`os.getcwd`, the name of a module).
"""
