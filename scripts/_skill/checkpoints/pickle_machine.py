"""Follows a pickle opcode by opcode without making any object: what would a load import, call and hold?

The stack and memo hold stand-ins (`pickle_values`). Whatever no honest writer emits fails closed. Reading goes on as
far as any loader would go on, also after a mistake, so that what stands behind it is seen; and what was found stays
where the rest cannot be read, because a loader has done everything before that point.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from . import limits
from .allowed_globals import CALLABLE, NESTED_LOAD, UNREAD, Misuse, is_allowed
from .content import ALLOWED, COULD_NOT_CHECK, DAMAGED, KNOWN_DATA, NOT_ALLOWED, NOT_WEIGHTS_ONLY, UNSAFE, Content
from .known_data_globals import CALLS, NEW, STATEFUL, is_known
from .pickle_containers import PickleContainers
from .pickle_opcodes import OPCODES
from .pickle_stream import PickleDamaged, PickleLimit, PickleStream
from .pickle_values import Global, Made, Mapping, kind_of
from .source import Source

PersistentLoad = Callable[[Any], Any]
"""Gives the stand-in for a persistent id, or raises Misuse."""

_IDENTIFIER = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_SHADOWS = frozenset(dir(dict)) | {"move_to_end", "elements", "most_common", "subtract", "total"}
_PROTOCOL_OF_TORCH = 2


class PickleMachine(PickleContainers):
    """One pickle, from its first byte to its STOP."""

    def __init__(
        self,
        source: Source,
        content: Content,
        *,
        start: int = 0,
        where: str = "",
        persistent: PersistentLoad | None = None,
        most_opcodes: int = limits.PICKLE_OPCODES,
        trial: bool = False,
    ) -> None:
        super().__init__(PickleStream(source, start), content, where)
        self.persistent = persistent
        self.most_opcodes = most_opcodes
        self.trial = trial
        """Whether this is a file of another kind: a plain loader ends at the first reference to something outside."""
        self.start = start
        self.opcodes = 0
        self.complete = False
        self.limited = False
        """Whether it broke off at a bound of this tool."""
        self.imports = False
        """Whether it names anything that a load would import."""
        self.value: Any = None

    def run(self) -> bool:
        """Follows the pickle; False where it breaks off, with a finding. `value` is what it holds."""
        try:
            self._follow()
        except PickleDamaged as error:
            self._add(DAMAGED, "pickle.damaged", f"not a whole pickle: {error.message}")
        except PickleLimit as error:
            self.limited = True
            self._add(COULD_NOT_CHECK, "pickle.limit", f"more than this tool follows: {error.message}")
        else:
            self.complete = True
        return self.complete

    @property
    def end(self) -> int:
        """The offset after the last byte that was read."""
        return self.stream.offset

    def _follow(self) -> None:
        table = self._handlers()
        stream = self.stream
        while True:
            self.at = stream.offset
            if self.frame_end and self.at >= self.frame_end:
                if self.at > self.frame_end:
                    self._form("an opcode crosses the end of its frame")
                self.frame_end = 0
            code = stream.byte()
            if code == 0x2E:
                break
            handler = table.get(code)
            if handler is None:
                if code < 0:
                    raise PickleDamaged("it ends without STOP")
                raise PickleDamaged(f"there is no opcode 0x{code:02x}")
            self.opcodes += 1
            if self.opcodes > self.most_opcodes:
                raise PickleLimit(f"{self.most_opcodes} opcodes")
            if code >= 0x80 or code in (0x42, 0x43):
                self._check_protocol(code)
            handler()
        if self.frame_end and stream.offset != self.frame_end:
            self._form("STOP stands before the end of its frame")
        if not self.stack:
            raise PickleDamaged("no value is left at STOP")
        if self.marks or len(self.stack) != 1:
            self._form("more than one value, or a mark, is left at STOP")
        self.value = self.stack.pop()

    def _check_protocol(self, code: int) -> None:
        if code == 0x80:
            if self.at != self.start:
                self._form("PROTO stands in the middle")
        elif OPCODES[code][1] > self.protocol:
            self._form(f"{OPCODES[code][0]} does not exist in protocol {self.protocol}")

    def _handlers(self) -> dict[int, Callable[[], None]]:
        return {code: getattr(self, f"_op_{name.lower()}") for code, (name, _) in OPCODES.items() if name != "STOP"}

    # What a load would import and call

    def _op_global(self) -> None:
        module = self._name()
        self._named(module, self._name())

    def _name(self) -> str:
        """A line with a name to import; a long one is cut, which no allowed name is."""
        line = self.stream.line()
        try:
            return line[: limits.PICKLE_NAME].decode(
                "utf-8", "strict" if len(line) <= limits.PICKLE_NAME else "replace"
            )
        except UnicodeDecodeError:
            raise PickleDamaged("a name is not UTF-8") from None

    def _op_stack_global(self) -> None:
        name = self._pop()
        module = self._pop()
        if type(name) is not str or type(module) is not str:
            self.imports = True
            self._add(UNSAFE, "pickle.computed_name", "a name to import that is not a plain text", got=kind_of(module))
            self.stack.append(Made("an unknown name", False))
            return
        self._named(module, name)

    def _named(self, module: str, name: str) -> None:
        self.imports = self.imports or bool(_IDENTIFIER.fullmatch(module) and _IDENTIFIER.fullmatch(name))
        if self.protocol > 2 and module in ("__builtin__", "copy_reg"):
            self._form(f"{module} is a name of Python 2, which protocol {self.protocol} does not have")
        found = Global(module, name, self.at)
        self._container()
        self.stack.append(found)
        self._use(found, "referenced")

    def _use(self, found: Global, use: str) -> str:
        """Notes a use of a global, with a finding at its first use where it is not allowed; its status."""
        module, name = found.module, found.name
        status = ALLOWED if is_allowed(module, name) else KNOWN_DATA if is_known(module, name) else NOT_ALLOWED
        first = (module, name, use) not in self.content.globals
        self.content.used(module, name, use, status, self.at)
        if not first or status == ALLOWED:
            return status
        if status == KNOWN_DATA:
            if use == "referenced":
                self._add(
                    NOT_WEIGHTS_ONLY,
                    "pickle.extra_global",
                    f"not weights only: a load needs {found.path}",
                    want="tensors and plain values",
                    fix="save plain numbers and texts (float(x), x.tolist(), str(path)), or safetensors",
                )
        elif (module, name) in UNREAD:
            self._add(COULD_NOT_CHECK, "pickle.unread_tensor", f"a kind of tensor that is not read here: {found.path}")
        elif use == "referenced":
            self._add(
                UNSAFE,
                "pickle.unsafe_global",
                f"a load would import {found.path}, which is not on the allow-list",
                want="tensors and plain values only",
                fix="do not load it; ask its author for safetensors",
            )
        else:
            self._add(UNSAFE, "pickle.unsafe_call", f"a load would call {found.path} ({use})")
        return status

    def _op_reduce(self) -> None:
        arguments = self._pop()
        function = self._pop()
        self.stack.append(self._call(function, arguments))

    def _call(self, function: Any, arguments: Any) -> Any:
        self._container()
        if not isinstance(function, Global):
            self._add(UNSAFE, "pickle.computed_call", "a load would call a computed object", got=kind_of(function))
            return Made("the result of a computed call", False)
        status = self._use(function, "called")
        key = (function.module, function.name)
        if key in NESTED_LOAD:
            self._add(
                UNSAFE,
                "pickle.nested_load",
                "a tensor inside a plain pickle: a load would unpickle the bytes within without protection",
                fix="save it with torch.save, or as safetensors",
            )
        rule = CALLABLE.get(key) or CALLS.get(key)
        if rule is None:
            if status != NOT_ALLOWED:
                self._misuse(function, "it is never called")
            return Made(f"the result of {function.path}", False)
        if type(arguments) is not tuple:
            self._misuse(function, "its arguments are not a tuple")
            return Made(f"the result of {function.path}", False)
        try:
            return rule(arguments)
        except Misuse as error:
            self._misuse(function, str(error))
            return Made(f"the result of {function.path}", False)

    def _misuse(self, function: Global, message: str) -> None:
        self._add(UNSAFE, "pickle.misused_global", f"{function.path} is used as no checkpoint does: {message}")

    def _op_newobj(self) -> None:
        arguments = self._pop()
        self._new(self._pop(), arguments)

    def _op_newobj_ex(self) -> None:
        keywords = self._pop()
        arguments = self._pop()
        made_of = self._pop()
        if not isinstance(keywords, Mapping) or keywords.items:
            self._odd("makes an object with named arguments", made_of)
        self._new(made_of, arguments)

    def _new(self, made_of: Any, arguments: Any) -> None:
        self._container()
        if not isinstance(made_of, Global):
            self._add(UNSAFE, "pickle.computed_call", "a load would make an object of a computed class")
            self.stack.append(Made("an object of a computed class", False))
            return
        status = self._use(made_of, "built")
        key = (made_of.module, made_of.name)
        if key == ("collections", "OrderedDict") and arguments == ():
            self.stack.append(Mapping("OrderedDict"))
            return
        if key in NEW and arguments == ():
            self.stack.append(Made(f"{made_of.module}.{made_of.name}", True, "state"))
            return
        if status != NOT_ALLOWED:
            self._misuse(made_of, "no object of it is made this way")
        self.stack.append(Made(f"an object of {made_of.path}", False))

    def _op_inst(self) -> None:
        module = self._name()
        name = self._name()
        self._since_mark()
        self._named(module, name)
        self._instance(self._pop())

    def _op_obj(self) -> None:
        items = self._since_mark()
        if not items:
            raise PickleDamaged("OBJ without a class")
        self._instance(items[0])

    def _instance(self, made_of: Any) -> None:
        self._container()
        self.imports = True
        if isinstance(made_of, Global):
            self._use(made_of, "built")
        self._odd("makes an object with an opcode that no writer has used since Python 2", made_of)
        self.stack.append(Made("an object", False))

    def _op_build(self) -> None:
        state = self._pop()
        target = self._top()
        if isinstance(target, Mapping) and target.kind == "OrderedDict":
            self._check_attributes(state, target)
        elif isinstance(target, Made) and target.trusted and target.of in STATEFUL:
            self._check_attributes(state, target)
        elif isinstance(target, Made) and target.trusted and target.of in ("numpy.dtype", "numpy.ndarray"):
            if type(state) is not tuple:
                self._odd("sets the state of an array to something that is not one", state)
        else:
            if isinstance(target, Global):
                self._use(target, "built")
            self._odd("sets the state of an object", target)

    def _check_attributes(self, state: Any, target: Any) -> None:
        """Attributes that a load would set: none that replaces a method or that Python gives a meaning."""
        if not isinstance(state, Mapping):
            self._odd("sets the state of an object to something that is not a dict", target)
            return
        for key in state.items:
            if not isinstance(key, str) or key.startswith("__") or key in _SHADOWS:
                self._odd("replaces a method of an object", target)
                return
        if isinstance(target, Mapping):
            return
        target.detail = "filled"

    def _op_persid(self) -> None:
        self._load_persistent(self.stream.line()[: limits.PICKLE_NAME].decode("latin-1"))

    def _op_binpersid(self) -> None:
        self._load_persistent(self._pop())

    def _load_persistent(self, identifier: Any) -> None:
        self._container()
        try:
            if self.persistent is None:
                raise Misuse("nothing outside this pickle can be referred to")
            self.stack.append(self.persistent(identifier))
        except Misuse as error:
            self._add(UNSAFE, "pickle.persistent_id", f"an outside object that no checkpoint has: {error}")
            if self.trial:
                raise PickleDamaged("an outside object") from None
            self.stack.append(Made("an outside object", False))

    def _extension(self, count: int) -> None:
        code = self.stream.number(count)
        if self.trial:
            raise PickleDamaged("an extension, which no loader knows by itself")
        self.imports = True
        self._add(UNSAFE, "pickle.extension", f"a load would import whatever extension {code} is registered for")
        self.stack.append(Made("an extension", False))

    def _op_ext1(self) -> None:
        self._extension(1)

    def _op_ext2(self) -> None:
        self._extension(2)

    def _op_ext4(self) -> None:
        self._extension(4)

    def _op_next_buffer(self) -> None:
        self._odd("needs a buffer from outside the file", None)
        self.stack.append(Made("an outside buffer", False))

    def _op_readonly_buffer(self) -> None:
        self._odd("makes a buffer from outside the file read-only", self._top())


def summary_of_protocol(protocol: int) -> str:
    """A warning for protocols that torch's weights-only loader does not read; empty where it does."""
    if protocol == _PROTOCOL_OF_TORCH:
        return ""
    return f"pickle protocol {protocol}: torch's weights-only loader reads protocol 2 only"
