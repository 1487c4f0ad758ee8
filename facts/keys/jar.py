"""Reads the keys of a jar: those of its default file, and those in its classes with their defaults."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from msgspec import Struct

from facts.keys.class_file import ClassFile, Constant, read_class
from facts.keys.shape import is_key, is_name

__all__ = ["JarKeys", "class_keys", "jar_keys"]

DEFAULT_FILES: Final = frozenset({"core-default.xml", "hbase-default.xml", "hdfs-default.xml", "yarn-default.xml"})

KEY_ENDINGS: Final = re.compile(
    r"_(?:CONF(?:IG(?:URATION)?)?_(?:KEY|NAME|PROPERTY)|KEY|CONF(?:IG(?:URATION)?)?|NAME|PROP(?:ERTY)?)$"
)
KEY_BEGINNINGS: Final = re.compile(r"^(?:CONF|CONFIG|KEY)_")
DEFAULT_NAMES: Final = ("DEFAULT_{}", "{}_DEFAULT", "DEFAULT_{}_VALUE", "{}_DEFAULT_VALUE", "DEFAULT_VALUE_OF_{}")
"""The names that HBase and Hadoop give the default of a key, by the name of the key."""

FLOAT_DIGITS: Final = range(1, 10)
"""Nine decimal digits distinguish any two numbers of 32 bits."""


class JarKeys(Struct, frozen=True, kw_only=True):
    """The keys of one jar; in code a key may have no default, or several that contradict each other."""

    in_default_file: Mapping[str, str]
    in_code: Mapping[str, frozenset[str]]


def jar_keys(path: Path) -> JarKeys:
    """Return the keys of a jar. Raises ValueError when a class in it cannot be read."""
    in_default_file: dict[str, str] = {}
    in_code: dict[str, frozenset[str]] = {}
    with zipfile.ZipFile(path) as jar:
        for name in sorted(jar.namelist()):
            if name in DEFAULT_FILES:
                in_default_file.update(_default_file(jar.read(name)))
            elif name.endswith(".class"):
                for key, defaults in class_keys(read_class(jar.read(name))).items():
                    in_code[key] = in_code.get(key, frozenset()) | defaults
    return JarKeys(in_default_file=in_default_file, in_code=in_code)


def class_keys(read: ClassFile) -> Mapping[str, frozenset[str]]:
    """Return the keys among the strings of a class, each with the defaults that its constants state."""
    keys: dict[str, frozenset[str]] = {text: frozenset() for text in read.strings if is_key(text)}
    for name, constant in read.constants.items():
        if constant.value in keys:
            keys[str(constant.value)] |= frozenset(_defaults(name, read.constants))
    return keys


def _defaults(name: str, constants: Mapping[str, Constant]) -> Iterator[str]:
    """Yield the values of the constants whose names mark them as the default of a key."""
    stems = {name, KEY_ENDINGS.sub("", name)}
    stems |= {KEY_BEGINNINGS.sub("", stem) for stem in stems}
    for form in DEFAULT_NAMES:
        for stem in sorted(stems):
            constant = constants.get(form.format(stem))
            if constant is not None and not is_key(str(constant.value)):
                yield _text(constant)


def _text(constant: Constant) -> str:
    """Return a constant as a site file writes it: a boolean as a word, a float with its original digits."""
    if constant.descriptor == "Z":
        return "true" if constant.value else "false"
    if constant.descriptor == "F":
        value = float(constant.value)
        shortest = (f"{value:.{digits}g}" for digits in FLOAT_DIGITS)
        return str(next((float(text) for text in shortest if _as_float(text) == value), value))
    return str(constant.value)


def _as_float(text: str) -> float:
    return float(struct.unpack("f", struct.pack("f", float(text)))[0])


def _default_file(data: bytes) -> Iterator[tuple[str, str]]:
    root = ET.fromstring(data)  # noqa: S314 - from a jar whose checksum was verified
    for element in root.iter("property"):
        name = (element.findtext("name") or "").strip()
        if is_name(name):  # a few are patterns, `ipc.[port_number].callqueue.impl`
            yield name, element.findtext("value") or ""
