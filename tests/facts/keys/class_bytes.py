"""Class files that tests write by hand, so that they need no compiler."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from msgspec import Struct, field

STRING = "Ljava/lang/String;"


class ClassBytes(Struct, dict=True):
    """Collects constants and fields, and writes the class that has them."""

    pool: list[bytes] = field(default_factory=list)
    slots: int = 0

    def entry(self, data: bytes, slots: int = 1) -> int:
        """The index of a constant of these bytes; a long or a double takes two slots."""
        self.pool.append(data)
        self.slots += slots
        return self.slots - slots + 1

    def utf8(self, text: str) -> int:
        """Return the index of a text."""
        encoded = text.encode()
        return self.entry(struct.pack(">BH", 1, len(encoded)) + encoded)

    def constant(self, descriptor: str, value: str | float) -> int:
        """Return the index of a value of that type."""
        if descriptor == STRING:
            return self.entry(struct.pack(">BH", 8, self.utf8(str(value))))
        tag, form, slots = {"J": (5, "q", 2), "D": (6, "d", 2), "F": (4, "f", 1)}.get(descriptor, (3, "i", 1))
        number = float(value) if form in "fd" else int(value)
        return self.entry(struct.pack(f">B{form}", tag, number), slots)


def class_bytes(fields: Sequence[tuple[str, str, str | float]] = (), strings: Sequence[str] = ()) -> bytes:
    """Return a class with these constant fields (name, descriptor, value), other strings, and one plain field."""
    content = ClassBytes()
    content.entry(struct.pack(">BH", 7, content.utf8("Some")))
    attribute = content.utf8("ConstantValue")
    other, plain, plain_type = content.utf8("Deprecated"), content.utf8("plain"), content.utf8("I")
    for text in strings:
        content.constant(STRING, text)
    written = [struct.pack(">HHHHHI", 0, plain, plain_type, 1, other, 0)]
    for name, descriptor, value in fields:
        at = (content.utf8(name), content.utf8(descriptor))
        written.append(struct.pack(">HHHHHIH", 0x19, *at, 1, attribute, 2, content.constant(descriptor, value)))
    return b"".join(
        (
            struct.pack(">IHHH", 0xCAFEBABE, 0, 52, content.slots + 1),
            *content.pool,
            struct.pack(">HHHHH", 0x21, 2, 2, 1, 2),  # one interface: itself
            struct.pack(">H", len(written)),
            *written,
            struct.pack(">HH", 0, 0),
        )
    )
