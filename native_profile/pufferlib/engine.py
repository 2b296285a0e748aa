"""The engine's C interface through ctypes: structures, the loaded library, and a trainer as an object.

Arrays cross the border only as memory that the engine or ctypes owns, with sizes checked here. A call releases the
interpreter's lock while it works.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from ctypes import (
    POINTER,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass
from typing import Any

from .build import Library, build_engine, build_environment
from .errors import MISUSE, REFUSED, PufferError
from .train_settings import ACTIVATIONS, ANNEALS

ENGINE_ABI = 1
ENVIRONMENT_ABI = 1
MAX_COMMANDS = 1024


class Setting(ctypes.Structure):
    """PufferSetting."""

    _fields_ = [
        ("name", c_char_p), ("help", c_char_p), ("is_float", c_int32), ("offset", c_uint32),
        ("standard", c_double), ("low", c_double), ("high", c_double),
    ]  # fmt: skip


class Statistic(ctypes.Structure):
    """PufferStatistic."""

    _fields_ = [("name", c_char_p), ("help", c_char_p)]


class EnvironmentDescriptor(ctypes.Structure):
    """PufferEnvironment. Its functions are called by the engine, not from here."""

    _fields_ = [
        ("abi", c_uint32), ("descriptor_size", c_uint32),
        ("name", c_char_p), ("title", c_char_p), ("task", c_char_p), ("author", c_char_p),
        ("agents", c_int32), ("observation_type", c_int32),
        ("observation_rank", c_int32), ("observation_shape", c_int32 * 4),
        ("features", c_int32), ("heads", c_int32), ("action_sizes", c_int32 * 16),
        ("num_settings", c_int32), ("num_statistics", c_int32),
        ("settings", POINTER(Setting)), ("statistics", POINTER(Statistic)),
        ("state_size", c_size_t), ("settings_size", c_size_t),
        ("functions", c_void_p * 10),
    ]  # fmt: skip


class ErrorRecord(ctypes.Structure):
    """PufferError."""

    _fields_ = [
        ("code", c_int32),
        ("environment", c_int64),
        ("step", c_int64),
        ("field", c_char * 96),
        ("message", c_char * 400),
    ]


class TrainConfig(ctypes.Structure):
    """PufferTrainConfig."""

    _fields_ = [
        ("seed", c_uint64), ("total_timesteps", c_int64),
        ("num_envs", c_int32), ("horizon", c_int32), ("minibatch_size", c_int32), ("update_epochs", c_int32),
        ("num_workers", c_int32),
        ("hidden_count", c_int32), ("hidden", c_int32 * 8), ("activation", c_int32), ("anneal_lr", c_int32),
        ("learning_rate", c_double), ("min_lr_ratio", c_double), ("gamma", c_double), ("gae_lambda", c_double),
        ("clip_coef", c_double), ("vf_coef", c_double),
        ("vf_clip_coef", c_double), ("ent_coef", c_double), ("max_grad_norm", c_double),
        ("adam_beta1", c_double), ("adam_beta2", c_double), ("adam_eps", c_double),
    ]  # fmt: skip


class Metrics(ctypes.Structure):
    """PufferMetrics."""

    _fields_ = [
        ("iteration", c_int64), ("step", c_int64), ("episodes", c_int64),
        ("recent_return", c_double), ("recent_length", c_double),
        ("recent_count", c_int32), ("statistics_count", c_int32), ("statistics", c_double * 32),
        ("policy_loss", c_double), ("value_loss", c_double), ("entropy", c_double), ("approx_kl", c_double),
        ("clip_fraction", c_double), ("explained_variance", c_double),
        ("gradient_norm", c_double), ("learning_rate", c_double),
        ("seconds_rollout", c_double), ("seconds_learn", c_double),
    ]  # fmt: skip


class TensorRecord(ctypes.Structure):
    """PufferTensor."""

    _fields_ = [("name", c_char_p), ("type", c_int32), ("rank", c_int32), ("shape", c_int64 * 4), ("data", c_void_p)]


class CanvasRecord(ctypes.Structure):
    """Canvas. A command is kind, colour and five numbers: 28 bytes."""

    _fields_ = [
        ("width", c_float), ("height", c_float), ("background", c_uint32), ("count", c_int32), ("dropped", c_int32),
        ("commands", c_uint8 * (28 * MAX_COMMANDS)),
    ]  # fmt: skip


class NotFinite(PufferError):
    """A non-finite number stopped the run: in which environment, step and field it was found."""

    def __init__(self, message: str, environment: int, step: int, field: str) -> None:
        super().__init__(message, REFUSED)
        self.environment, self.step, self.field = environment, step, field


@dataclass(frozen=True)
class Tensor:
    """A named array in the engine's memory: ``data`` is a writable view of its bytes."""

    name: str
    dtype: str  # as safetensors spells it: F32, I32, I64, U8
    shape: tuple[int, ...]
    data: memoryview


_TENSOR_TYPES = {0: ("F32", 4), 1: ("I32", 4), 2: ("I64", 8), 3: ("U8", 1)}
_loaded: dict[str, ctypes.CDLL] = {}


def load_engine() -> tuple[ctypes.CDLL, Library]:
    """The engine's library, built if need be, with its interface checked against the structures above."""
    built = build_engine()
    if "engine" not in _loaded:
        library = ctypes.CDLL(str(built.path))
        _declare(library)
        if library.puffer_engine_abi() != ENGINE_ABI:
            raise PufferError(
                f"the engine has interface {library.puffer_engine_abi()}, this package expects {ENGINE_ABI}", MISUSE
            )
        ours = "".join(
            f"{name}:{getattr(TrainConfig, name).offset}:{getattr(TrainConfig, name).size};"
            for name, _ in _config_fields()
        )
        theirs = library.puffer_train_config_layout().decode()
        if ours != theirs:
            raise PufferError(f"the engine's settings are laid out as {theirs}, this package expects {ours}", MISUSE)
        _loaded["engine"] = library
    return _loaded["engine"], built


def _config_fields() -> list[tuple[str, Any]]:
    return [(field[0], field[1]) for field in TrainConfig._fields_]


def load_environment(header: Any) -> tuple[Any, Library]:
    """The descriptor of the environment in ``header`` and its library."""
    built = build_environment(header)
    library = _loaded.get(str(built.path))
    if library is None:
        library = _loaded[str(built.path)] = ctypes.CDLL(str(built.path))
    library.puffer_describe.restype = POINTER(EnvironmentDescriptor)
    descriptor = library.puffer_describe().contents
    if descriptor.abi != ENVIRONMENT_ABI or descriptor.descriptor_size != ctypes.sizeof(EnvironmentDescriptor):
        raise PufferError(f"{header}: built for interface {descriptor.abi}, expected {ENVIRONMENT_ABI}", MISUSE)
    return descriptor, built


def _declare(library: ctypes.CDLL) -> None:
    environment, error = POINTER(EnvironmentDescriptor), POINTER(ErrorRecord)
    floats = POINTER(c_float)
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "puffer_engine_abi": (c_uint32, []),
        "puffer_engine_build": (c_char_p, []),
        "puffer_train_config_layout": (c_char_p, []),
        "puffer_tile_lanes": (c_int32, []),
        "puffer_slice_steps": (c_int32, []),
        "puffer_trainer_create": (c_int32, [environment, c_void_p, POINTER(TrainConfig), POINTER(c_void_p), error]),
        "puffer_trainer_destroy": (None, [c_void_p]),
        "puffer_trainer_iterate": (c_int32, [c_void_p, POINTER(Metrics), error]),
        "puffer_trainer_collect": (c_int32, [c_void_p, error]),
        "puffer_trainer_restore": (c_int32, [c_void_p, error]),
        "puffer_trainer_tensor_count": (c_int32, [c_void_p]),
        "puffer_trainer_tensor": (None, [c_void_p, c_int32, POINTER(TensorRecord)]),
        "puffer_trainer_evaluate": (
            c_int32,
            [c_void_p, c_int32, c_uint64, c_int32, c_int64, floats, POINTER(c_int32), POINTER(c_double), error],
        ),
        "puffer_viewer_create": (c_int32, [c_void_p, c_uint64, POINTER(c_void_p), error]),
        "puffer_viewer_destroy": (None, [c_void_p]),
        "puffer_viewer_step": (c_int32, [c_void_p, c_int32, POINTER(CanvasRecord), floats, POINTER(c_int32), error]),
        "puffer_benchmark_steps": (c_double, [environment, c_void_p, c_int32, c_int32, c_int32, c_double]),
        "puffer_test_function": (None, [c_int32, floats, floats, c_int32]),
        "puffer_test_forward": (None, [c_void_p, floats, c_int32, floats]),
        "puffer_test_loss": (
            c_double,
            [c_void_p, floats, POINTER(c_int32), floats, floats, floats, c_int32, c_int32, c_int32, floats],
        ),
        "puffer_test_adam": (None, [floats, floats, floats, floats, c_int32, *([c_double] * 5), c_int64]),
        "puffer_test_advantages": (
            None,
            [floats, floats, floats, POINTER(c_uint8), POINTER(c_uint8), c_int32, c_int32, c_float, c_float, floats],
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def raise_for(code: int, error: ErrorRecord) -> None:
    """Raises what the engine's error says; nothing when the call went well."""
    if code == 0:
        return
    message, field = error.message.decode("utf-8", "replace"), error.field.decode("utf-8", "replace")
    if code == 2:
        raise NotFinite(message, error.environment, error.step, field)
    raise PufferError(message or f"the engine failed with code {code} at {field}", MISUSE if code == 1 else REFUSED)


@dataclass(frozen=True)
class Frame:
    """One step: draw commands (kind, colour, numbers) and the reward of the step that followed, summed over agents."""

    width: float
    height: float
    background: int
    commands: list[tuple[int, int, tuple[float, ...]]]
    reward: float
    ended: bool


@dataclass(frozen=True)
class Evaluation:
    """Whole episodes played without learning: a return and a length for each agent of each episode."""

    returns: list[float]
    lengths: list[int]
    statistics: dict[str, float]


class Trainer:
    """A trainer in the engine. ``plan`` is a checked plan, ``environment`` an ``environments.Environment``."""

    def __init__(self, environment: Any, plan: dict[str, Any], workers: int) -> None:
        self._library, self.built = load_engine()
        self.environment = environment
        train, policy = plan["train"], plan["policy"]
        config = TrainConfig()
        for name, _ in _config_fields():
            if name in train and name != "anneal_lr":
                setattr(config, name, train[name])
        config.anneal_lr = ANNEALS.index(train["anneal_lr"])
        config.activation = ACTIVATIONS.index(policy["activation"])
        config.hidden_count = len(policy["hidden"])
        config.hidden[: config.hidden_count] = policy["hidden"]
        config.num_workers = workers
        self._settings = environment.settings_bytes(plan["environment"]["settings"])
        self._metrics, self._error = Metrics(), ErrorRecord()
        self._handle = c_void_p()
        self._call(
            self._library.puffer_trainer_create(
                byref(environment.descriptor), self._settings, byref(config), byref(self._handle), byref(self._error)
            )
        )

    def close(self) -> None:
        """Frees the engine's memory. A closed trainer is of no further use."""
        if self._handle:
            self._library.puffer_trainer_destroy(self._handle)
            self._handle = c_void_p()

    def _call(self, code: int) -> None:
        raise_for(code, self._error)

    @property
    def compiler(self) -> str:
        """What built the engine, and its vector width."""
        return str(self._library.puffer_engine_build().decode())

    def iterate(self) -> Metrics:
        """One horizon and the updates on it. Raises NotFinite; the weights are then those before the failing update."""
        self._call(self._library.puffer_trainer_iterate(self._handle, byref(self._metrics), byref(self._error)))
        return self._metrics

    def collect(self) -> list[Tensor]:
        """The whole run as tensors over the engine's memory, good until the next call."""
        self._call(self._library.puffer_trainer_collect(self._handle, byref(self._error)))
        return list(self._tensors())

    def restore(self, read: Any) -> None:
        """Takes a run over: ``read(tensor)`` fills each tensor's memory."""
        for tensor in self._tensors():
            read(tensor)
        self._call(self._library.puffer_trainer_restore(self._handle, byref(self._error)))

    def _tensors(self) -> Iterator[Tensor]:
        record = TensorRecord()
        for index in range(self._library.puffer_trainer_tensor_count(self._handle)):
            self._library.puffer_trainer_tensor(self._handle, index, byref(record))
            dtype, size = _TENSOR_TYPES[record.type]
            shape = tuple(record.shape[: record.rank])
            for n in shape:
                size *= n
            view = memoryview((c_uint8 * size).from_address(record.data)).cast("B")
            yield Tensor(record.name.decode(), dtype, shape, view)

    def evaluate(self, episodes: int, seed: int, greedy: bool = True, max_steps: int = 1_000_000) -> Evaluation:
        """Plays ``episodes`` whole episodes in environments seeded with ``seed``, cut after ``max_steps``."""
        count = episodes * self.environment.agents
        returns, lengths = (c_float * count)(), (c_int32 * count)()
        statistics = (c_double * max(1, len(self.environment.statistics)))()
        self._call(
            self._library.puffer_trainer_evaluate(
                self._handle, episodes, seed, int(greedy), max_steps, returns, lengths, statistics, byref(self._error)
            )
        )
        names = [s.name for s in self.environment.statistics]
        return Evaluation(list(returns), list(lengths), dict(zip(names, statistics, strict=False)))

    def frames(self, seed: int, count: int, greedy: bool = True) -> Iterator[Frame]:
        """Pictures of one environment under the policy, a frame a step, until its episode ends or ``count`` frames."""
        viewer, canvas, ended = c_void_p(), CanvasRecord(), c_int32()
        rewards = (c_float * self.environment.agents)()
        self._call(self._library.puffer_viewer_create(self._handle, seed, byref(viewer), byref(self._error)))
        try:
            for _ in range(count):
                self._call(
                    self._library.puffer_viewer_step(
                        viewer, int(greedy), byref(canvas), rewards, byref(ended), byref(self._error)
                    )
                )
                drawn = bytes(memoryview(canvas.commands)[: 28 * canvas.count])
                commands = [(kind, colour, tuple(at)) for kind, colour, *at in struct.iter_unpack("=iI5f", drawn)]
                yield Frame(canvas.width, canvas.height, canvas.background, commands, sum(rewards), bool(ended.value))
                if ended.value:
                    return
        finally:
            self._library.puffer_viewer_destroy(viewer)


def benchmark_steps(environment: Any, num_envs: int, workers: int, layout: str, seconds: float) -> float:
    """Agent steps a second of the environment alone, random actions. ``layout``: rows, lanes or none (unobserved)."""
    library, _ = load_engine()
    code = ("rows", "lanes", "none").index(layout)
    settings = environment.settings_bytes({})
    return float(
        library.puffer_benchmark_steps(byref(environment.descriptor), settings, num_envs, workers, code, seconds)
    )
