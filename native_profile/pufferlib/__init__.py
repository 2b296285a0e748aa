"""PufferLib's shape, written anew: C environments and a compiled PPO trainer.

An independent implementation. Importing this package loads nothing heavy and builds nothing; the engine is compiled the
first time that something needs it.
"""

__version__ = "0.1.0"
