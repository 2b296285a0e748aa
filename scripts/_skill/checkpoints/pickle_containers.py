"""The opcodes of tuples, lists, dicts and sets."""

from __future__ import annotations

from typing import Any

from .. import text
from .allowed_globals import Misuse, plain_key
from .content import UNSAFE
from .pickle_stack import PickleStack
from .pickle_stream import PickleDamaged
from .pickle_values import Items, Mapping, kind_of


class PickleContainers(PickleStack):
    """Fills containers; what is no plain container, or no plain key, is a finding."""

    def _op_empty_tuple(self) -> None:
        self.stack.append(())

    def _op_tuple(self) -> None:
        items = self._since_mark()
        self._container()
        self.stack.append(tuple(items))

    def _tuple(self, count: int) -> None:
        if len(self.stack) < count:
            raise PickleDamaged("the stack is empty")
        self._container()
        self.stack[-count:] = [tuple(self.stack[-count:])]

    def _op_tuple1(self) -> None:
        self._tuple(1)

    def _op_tuple2(self) -> None:
        self._tuple(2)

    def _op_tuple3(self) -> None:
        self._tuple(3)

    def _op_empty_list(self) -> None:
        self._container()
        self.stack.append([])

    def _op_list(self) -> None:
        items = self._since_mark()
        self._container()
        self.stack.append(items)

    def _op_empty_dict(self) -> None:
        self._container()
        self.stack.append(Mapping("dict"))

    def _op_dict(self) -> None:
        items = self._since_mark()
        self._container()
        result = Mapping("dict")
        self._set_items(result, items)
        self.stack.append(result)

    def _op_empty_set(self) -> None:
        self._container()
        self.stack.append(Items("set", []))

    def _op_frozenset(self) -> None:
        items = self._since_mark()
        self._container()
        self.stack.append(Items("frozenset", [self._key(item) for item in items]))

    def _op_append(self) -> None:
        item = self._pop()
        self._extend([item])

    def _op_appends(self) -> None:
        items = self._since_mark()
        self._extend(items)

    def _extend(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) is not list:
            self._odd("appends to something that is not a list", target)
            return
        target.extend(items)

    def _op_setitem(self) -> None:
        value = self._pop()
        key = self._pop()
        self._set_items(self._top(), [key, value])

    def _op_setitems(self) -> None:
        items = self._since_mark()
        self._set_items(self._top(), items)

    def _op_additems(self) -> None:
        items = self._since_mark()
        target = self._top()
        if not isinstance(target, Items) or target.kind != "set":
            self._odd("adds to something that is not a set", target)
            return
        target.values.extend(self._key(item) for item in items)

    def _set_items(self, target: Any, items: list[Any]) -> None:
        if len(items) % 2:
            raise PickleDamaged("a key without a value")
        if not isinstance(target, Mapping):
            self._odd("sets an item of something that is not a dict", target)
            return
        if target.frozen and items:
            self._odd("fills a dict that has to stay as it is", target)
            return
        known = target.items
        for index in range(0, len(items), 2):
            key = items[index]
            if type(key) is not str:
                key = self._key(key)
            if key in known:
                self._form(f"the key {text.shown(str(key), 60)} stands twice in one dict")
            known[key] = items[index + 1]

    def _key(self, value: Any) -> Any:
        try:
            return plain_key(value)
        except Misuse as error:
            self._add(UNSAFE, "pickle.key", f"an object as a key or as an item of a set: {error}")
            return f"?{self.at}"

    def _odd(self, message: str, target: Any) -> None:
        self._add(UNSAFE, "pickle.operation", f"the pickle {message}", got=kind_of(target))
