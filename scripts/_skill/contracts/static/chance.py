"""Where an environment gets its chance and its time from: global generators, constant seeds, clocks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .source import Source, Warned, calls, classes

GLOBAL_NUMPY = frozenset(
    "seed rand randn randint random random_sample choice shuffle permutation uniform normal binomial poisson "
    "exponential beta gamma standard_normal multivariate_normal random_integers ranf sample".split()
)
GLOBAL_RANDOM = frozenset(
    "seed random randint randrange choice choices sample shuffle uniform gauss normalvariate betavariate expovariate "
    "triangular getrandbits randbytes".split()
)
MAKERS = frozenset({"numpy.random.default_rng", "numpy.random.RandomState", "random.Random", "numpy.random.PCG64"})
CLOCKS = frozenset(
    "time.time time.time_ns time.monotonic time.perf_counter time.sleep datetime.datetime.now datetime.datetime.utcnow "
    "datetime.now datetime.date.today".split()
)
ENTROPY = frozenset(
    {"os.urandom", "secrets.randbelow", "secrets.token_bytes", "secrets.choice", "uuid.uuid4", "random.SystemRandom"}
)


def global_state(source: Source) -> Iterator[Warned]:
    """Calls of the global generators of numpy and random."""
    for call, name in calls(source):
        head, _, last = name.rpartition(".")
        if (head == "numpy.random" and last in GLOBAL_NUMPY) or (head == "random" and last in GLOBAL_RANDOM):
            message = "uses a global random generator: the seed of reset does not reach it"
            yield Warned(
                call.lineno, "static.global_random", message, name, "self.np_random after super().reset(seed=seed)"
            )
        elif name in ENTROPY:
            message = "draws from the system's entropy: no seed reaches it"
            yield Warned(call.lineno, "static.entropy", message, name, "self.np_random")


def fixed_seed(source: Source) -> Iterator[Warned]:
    """Generators made from a constant inside a class: every seed gives the same numbers."""
    for node in classes(source.tree):
        for call in ast.walk(node):
            if not isinstance(call, ast.Call) or len(call.args) != 1 or not isinstance(call.args[0], ast.Constant):
                continue
            from .source import dotted

            name = dotted(call.func, source.names)
            if name in MAKERS and call.args[0].value is not None:
                message = "makes a random generator from a constant: every seed gives the same numbers"
                yield Warned(call.lineno, "static.fixed_seed", message, f"{name}({call.args[0].value!r})"[:80])


def clocks(source: Source) -> Iterator[Warned]:
    """Reading the clock, or sleeping, in reset or step: the result depends on the machine."""
    for node in classes(source.tree):
        for function in ast.walk(node):
            if not isinstance(function, ast.FunctionDef) or function.name in ("render", "close", "__init__"):
                continue
            for call in ast.walk(function):
                if isinstance(call, ast.Call):
                    from .source import dotted

                    name = dotted(call.func, source.names)
                    if name in CLOCKS:
                        message = f"depends on the clock in {function.name}"
                        yield Warned(call.lineno, "static.clock", message, name, "count steps instead")


def hashes(source: Source) -> Iterator[Warned]:
    """hash() of text and id() in an environment's own code: other values in every process."""
    for node in classes(source.tree):
        for function in ast.walk(node):
            if isinstance(function, ast.FunctionDef) and function.name not in ("__hash__", "__eq__"):
                for call in ast.walk(function):
                    if (
                        isinstance(call, ast.Call)
                        and isinstance(call.func, ast.Name)
                        and call.func.id in ("hash", "id")
                    ):
                        name = call.func.id
                        message = f"depends on {name}(), which differs from process to process"
                        fix = "zlib.crc32 of the bytes, or a number of your own"
                        yield Warned(call.lineno, "static.hash", message, f"{name}()", fix)


RULES = (global_state, fixed_seed, clocks, hashes)
