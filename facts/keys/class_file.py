"""Reads the constants of a compiled Java class: its strings, and its constant fields by name.

They come from the constant pool, because a release publishes classes and no list of its keys. A string that the
compiler folded into another class is in the pool of that class too.
Source: Java Virtual Machine Specification, chapter 4.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

__all__ = ["ClassFile", "Constant", "read_class"]

MAGIC: Final = 0xCAFEBABE

# Tags of the constant pool, table 4.4-B.
UTF8: Final = 1
STRING: Final = 8
NUMBERS: Final = {3: ">i", 4: ">f", 5: ">q", 6: ">d"}
TWO_ENTRIES: Final = frozenset({5, 6})
"""A long or a double takes two indices, of which the second is unusable."""
OPAQUE_BYTES: Final = {7: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Entries to skip, with their length: classes, members, types, call sites, modules."""

Value = str | int | float


class Constant(Struct, frozen=True, kw_only=True):
    """A field with a constant value: its type as a descriptor (`I`, `Z`, `Ljava/lang/String;`) and that value."""

    descriptor: str
    value: Value


class ClassFile(Struct, frozen=True, kw_only=True):
    """The strings a class uses, in the pool's order, and its constant fields."""

    strings: tuple[str, ...]
    constants: Mapping[str, Constant]


def read_class(data: bytes) -> ClassFile:
    """The class in these bytes. Raises ValueError for what is not a class file."""
    try:
        return _read(_Bytes(data))
    except (KeyError, struct.error) as error:
        raise ValueError(f"not a class file: {error!r}") from error


class _Bytes:
    """Bytes read from the front."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def number(self, form: str) -> int | float:
        value: int | float = struct.unpack_from(form, self.data, self.position)[0]
        self.position += struct.calcsize(form)
        return value

    def u1(self) -> int:
        return int(self.number(">B"))

    def u2(self) -> int:
        return int(self.number(">H"))

    def u4(self) -> int:
        return int(self.number(">I"))

    def text(self, length_bytes: int) -> str:
        """Java's UTF-8 of NUL and of surrogates is its own; no key has either, so they become question marks."""
        self.skip(length_bytes)
        return self.data[self.position - length_bytes : self.position].decode("utf-8", errors="replace")

    def skip(self, length_bytes: int) -> None:
        self.position += length_bytes


class _Pool(Struct, frozen=True, kw_only=True):
    """The constant pool by index: texts, numbers, and for each string the index of its text."""

    texts: Mapping[int, str]
    numbers: Mapping[int, int | float]
    strings: Mapping[int, int]

    def value(self, index: int) -> Value:
        return self.numbers[index] if index in self.numbers else self.texts[self.strings[index]]


def _read(data: _Bytes) -> ClassFile:
    if data.u4() != MAGIC:
        raise ValueError("not a class file: no magic number")
    data.skip(4)  # version
    pool = _pool(data)
    data.skip(6)  # access, this class, its superclass
    data.skip(2 * data.u2())  # interfaces
    fields = [_field(data, pool) for _ in range(data.u2())]
    return ClassFile(
        strings=tuple(pool.texts[text] for text in pool.strings.values()),
        constants={name: constant for name, constant in fields if constant is not None},
    )


def _pool(data: _Bytes) -> _Pool:
    texts: dict[int, str] = {}
    numbers: dict[int, int | float] = {}
    strings: dict[int, int] = {}
    index, count = 1, data.u2()
    while index < count:
        tag = data.u1()
        if tag == UTF8:
            texts[index] = data.text(data.u2())
        elif tag == STRING:
            strings[index] = data.u2()
        elif tag in NUMBERS:
            numbers[index] = data.number(NUMBERS[tag])
        else:
            data.skip(OPAQUE_BYTES[tag])
        index += 2 if tag in TWO_ENTRIES else 1
    return _Pool(texts=texts, numbers=numbers, strings=strings)


def _field(data: _Bytes, pool: _Pool) -> tuple[str, Constant | None]:
    data.skip(2)  # access
    name, descriptor = pool.texts[data.u2()], pool.texts[data.u2()]
    constant = None
    for _ in range(data.u2()):
        attribute, length_bytes = pool.texts[data.u2()], data.u4()
        if attribute == "ConstantValue":
            constant = Constant(descriptor=descriptor, value=pool.value(data.u2()))
        else:
            data.skip(length_bytes)
    return name, constant
