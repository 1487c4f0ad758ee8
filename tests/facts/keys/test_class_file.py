from __future__ import annotations

import pytest

from tests.facts.keys.class_bytes import STRING, class_bytes
from tools.keys.jar import Constant, read_class

FIELDS = (
    ("KEY", STRING, "hbase.some.key"),
    ("SIZE", "J", 1 << 40),
    ("RATIO", "D", 0.1),
    ("PART", "F", 0.5),
    ("ENABLED", "Z", 1),
    ("COUNT", "I", -3),
)


def test_constant_fields_have_their_type_and_value() -> None:
    read = read_class(class_bytes(FIELDS))
    assert read.constants == {name: Constant(descriptor=kind, value=value) for name, kind, value in FIELDS}


def test_strings_are_those_of_fields_and_of_code() -> None:
    read = read_class(class_bytes(FIELDS, strings=("hbase.other", "no key, but a word: Größe")))
    assert set(read.strings) == {"hbase.some.key", "hbase.other", "no key, but a word: Größe"}


def test_names_of_fields_are_no_strings() -> None:
    assert "SIZE" not in read_class(class_bytes(FIELDS)).strings


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", class_bytes(FIELDS)[:60], b"\xca\xfe\xba\xbe\0\0\0\x34\0\x02\x63"]
)
def test_what_is_no_class_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a class file"):
        read_class(data)
