"""``PufferEnv``: the base class of environments written in Python.

Two forms, told apart by what a class sets:

- The native form, for one or many agents: ``single_observation_space``, ``single_action_space`` and ``num_agents``
  are set before ``super().__init__(buf)``. ``reset(seed)`` gives (observations, infos), ``step(actions)`` gives
  (observations, rewards, terminals, truncations, infos); all arrays are the environment's own buffers, a row for each
  agent, written in place, and the environment starts its next episode itself.
- The short form, for one agent: ``super().__init__(buf)`` first, then ``self.observation_space`` and
  ``self.action_space``; ``reset()`` gives an observation, ``step(action)`` gives (observation, reward, done, info).

With ``buf``, a mapping of arrays such as slices of shared memory, the buffers are those very arrays: nothing is copied.
numpy and gymnasium are looked up when the first environment is made, so that the compiled trainer needs neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .spaces import APIUsageError, joint_space, make_discrete, make_space, package

BUFFERS = ("observations", "actions", "rewards", "terminals", "truncations", "masks")
"""(N, ...) of the observation's dtype; (N,), (N, heads) int32 or (N, ...); then (N,) float32, bool, bool, bool."""


class PufferEnv:
    """See the module. ``num_agents`` is 1 unless a class sets it; N below is ``num_agents``."""

    num_agents: int = 1
    emulated: Any = False
    done: bool = False
    """A native environment is never over: it starts the next episode itself."""

    observations: Any
    actions: Any
    rewards: Any
    terminals: Any
    truncations: Any
    masks: Any  # True for each agent that takes part

    def __init__(self, buf: Mapping[str, Any] | None = None) -> None:
        self._buf = buf
        self._spaces: dict[str, Any] = {}
        self._native = hasattr(self, "single_observation_space")
        if not self._native:
            return
        if not hasattr(self, "single_action_space"):
            raise self._wrong("single_observation_space is set and single_action_space is not")
        if isinstance(self.num_agents, bool) or not isinstance(self.num_agents, int) or self.num_agents < 1:
            raise self._wrong(f"num_agents is {self.num_agents!r}; expected a whole number, 1 or more")
        observation, action = self.single_observation_space, self.single_action_space
        spaces = package("gymnasium").spaces
        if not isinstance(observation, spaces.Box):
            raise self._wrong(f"single_observation_space is {_kind(observation)}; expected a Box")
        if not isinstance(action, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete)):
            raise self._wrong(f"single_action_space is {_kind(action)}; expected Discrete, MultiDiscrete or Box")
        spaces = (joint_space(observation, self.num_agents), joint_space(action, self.num_agents))
        self._spaces = dict(zip(("observation", "action"), spaces, strict=True))
        self._take_buffers(observation, action)

    # Spaces

    make_space = staticmethod(make_space)
    make_discrete = staticmethod(make_discrete)

    @property
    def observation_space(self) -> Any:
        """Native form: the space of all agents together. Short form: the space that the class set."""
        return self._space("observation")

    @observation_space.setter
    def observation_space(self, space: Any) -> None:
        self._set_space("observation", space)

    @property
    def action_space(self) -> Any:
        """As ``observation_space``, for actions."""
        return self._space("action")

    @action_space.setter
    def action_space(self, space: Any) -> None:
        self._set_space("action", space)

    def _space(self, which: str) -> Any:
        if which not in self.__dict__.get("_spaces", {}):
            raise self._wrong(f"{which}_space is not set yet")
        return self._spaces[which]

    def _set_space(self, which: str, space: Any) -> None:
        if "_spaces" not in self.__dict__:
            raise self._wrong(
                f"{which}_space is set before super().__init__(buf); set it behind, "
                f"or set single_{which}_space for the native form"
            )
        if self._native:
            raise self._wrong(f"single_{which}_space is set, so {which}_space follows from it")
        if not isinstance(space, package("gymnasium").spaces.Space):
            raise self._wrong(f"{which}_space is {_kind(space)}; expected a space, such as make_space((4,))")
        self._spaces[which] = space
        if len(self._spaces) == 2:
            self._take_buffers(self._spaces["observation"], self._spaces["action"])

    # Buffers

    def _take_buffers(self, observation: Any, action: Any) -> None:
        numpy, spaces = package("numpy"), package("gymnasium").spaces
        count = self.num_agents
        wanted: dict[str, tuple[tuple[int, ...], Any]] = {
            "rewards": ((count,), numpy.float32),
            **dict.fromkeys(("terminals", "truncations", "masks"), ((count,), numpy.bool_)),
        }
        # A space of several parts has no one array: it is flattened by emulation, which makes the buffer.
        if isinstance(observation, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete)):
            wanted["observations"] = ((count, *observation.shape), observation.dtype)
        if isinstance(action, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete)):
            kind = action.dtype if isinstance(action, spaces.Box) else numpy.int32
            wanted["actions"] = ((count, *action.shape), kind)
        for name, (shape, dtype) in wanted.items():
            array = numpy.zeros(shape, dtype) if self._buf is None else self._given(name, shape, numpy.dtype(dtype))
            if name == "masks":
                array[...] = True
            setattr(self, name, array)

    def _given(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """The caller's array itself, once it fits."""
        assert self._buf is not None
        if name not in self._buf:
            raise self._wrong(f"buf has no {name}; it has {', '.join(map(str, self._buf)) or 'nothing'}")
        array = self._buf[name]
        want = f"a writable array {shape} of {dtype}"
        if not isinstance(array, package("numpy").ndarray):
            raise self._wrong(f"buf[{name!r}] is {_kind(array)}; expected {want}")
        if array.shape != shape or array.dtype != dtype or not array.flags.writeable:
            state = "" if array.flags.writeable else ", not writable"
            raise self._wrong(f"buf[{name!r}] is an array {array.shape} of {array.dtype}{state}; expected {want}")
        return array

    def __getattr__(self, name: str) -> Any:
        # Called only for what is not there: a buffer or a space that is read before it is known.
        if name in ("observation_space", "action_space"):
            raise self._wrong(f"{name} is not set yet")
        if name in BUFFERS:
            raise self._wrong(f"there is no {name} yet; set both spaces first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _wrong(self, message: str) -> APIUsageError:
        return APIUsageError(f"{type(self).__name__}: {message}")

    # Life

    @property
    def driver_env(self) -> PufferEnv:
        """The environment that spaces are read from: this one."""
        return self

    @property
    def agents_per_batch(self) -> int:
        """Rows that one step gives."""
        return self.num_agents

    @property
    def agent_ids(self) -> Any:
        """(N,): which agent each row is."""
        return package("numpy").arange(self.num_agents)

    def reset(self, *arguments: Any, **keywords: Any) -> Any:
        """Starts an episode; see the two forms above."""
        raise NotImplementedError(f"{type(self).__name__} has no reset")

    def step(self, action: Any) -> Any:
        """One step; see the two forms above."""
        raise NotImplementedError(f"{type(self).__name__} has no step")

    def render(self) -> Any:
        """A picture or text of the state; None where there is none."""
        return None

    def close(self) -> None:
        """Frees what the environment holds; does nothing here, and may be called twice."""

    # A stand-in for the vectorizers: they send actions and receive batches.

    def async_reset(self, seed: int | None = None) -> None:
        """Native form: resets; ``recv`` gives the result."""
        _, self.infos = self.reset(seed)

    def send(self, actions: Any) -> None:
        """Native form: steps; ``recv`` gives the result."""
        *_, self.infos = self.step(actions)

    def recv(self) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
        """(observations, rewards, terminals, truncations, infos, agent_ids, masks)."""
        parts = (self.observations, self.rewards, self.terminals, self.truncations, self.infos)
        return (*parts, self.agent_ids, self.masks)


def _kind(value: Any) -> str:
    """What a value is, for messages."""
    return f"a {type(value).__name__}"
