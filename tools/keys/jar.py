"""The keys of a jar: those of its default file, and those in its classes with their defaults.

Keys are recognised among all the strings of compiled Java classes, and their constant fields by name. They come from
the constant pool, because a release publishes classes and no list of its keys. A string that the compiler folded into
another class is in the pool of that class too. Source: Java Virtual Machine Specification, chapter 4.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from msgspec import Struct

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


def _read(data: _Bytes) -> ClassFile:
    if data.u4() != MAGIC:
        raise ValueError("not a class file: no magic number")
    data.skip(4)  # version
    # These hold the constant pool by index: texts, numbers, and for each string the index of its text.
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
    data.skip(6)  # access, this class, its superclass
    data.skip(2 * data.u2())  # interfaces
    constants: dict[str, Constant] = {}
    for _ in range(data.u2()):  # fields
        data.skip(2)  # access
        name, descriptor = texts[data.u2()], texts[data.u2()]
        for _ in range(data.u2()):
            attribute, length_bytes = texts[data.u2()], data.u4()
            if attribute == "ConstantValue":
                index = data.u2()
                value = numbers[index] if index in numbers else texts[strings[index]]
                constants[name] = Constant(descriptor=descriptor, value=value)
            else:
                data.skip(length_bytes)
    return ClassFile(strings=tuple(texts[text] for text in strings.values()), constants=constants)


NAME: Final = re.compile(r"[A-Za-z0-9][\w-]*(?:\.[\w-]+)+(?<![_-])", re.ASCII)

ROOTS: Final = (
    "adl.",
    "backup.client.",
    "datanode.https.",
    "dfs.",
    "file.",
    "fs.",
    "ftp.",
    "ha.",
    "hadoop.",
    "hbase.",
    "hbasefsck.",
    "hdfs.client.",
    "hfile.",
    "hfilevalidator.",
    "hlog.",
    "httpfs.",
    "import.",
    "importtsv.",
    "io.",
    "ipc.",
    "jvm.",
    "master.rmi.",
    "net.",
    "nfs.",
    "regionserver.rmi.",
    "replication.",
    "rpc.",
    "security.",
    "seq.",
    "snapshot.",
    "ssl.client.",
    "ssl.server.",
    "sync.table.",
    "tfile.",
    "topology.",
    "verifyrep.",
    "wal.",
    "yarn.",
    "zookeeper.",
)
"""How keys begin: with what keys of the default files begin with, and what classes read from a Configuration besides.

MapReduce's own keys are in no module that is read, and so left out rather than known by halves.
"""

NOT_KEYS: Final = frozenset(
    {
        "file.separator",  # of Java
        "hadoop.auth",  # a cookie
        "hadoop.conf",  # attributes of servlets
        "hbase.conf",
        "hbase.id",  # files in the root directory
        "hbase.version",
        "hbase.rootDir",  # a slip of HBase's own MajorCompactor
    }
)
NOT_ROOTS: Final = (
    "fs.capability.",  # what a file system answers of itself
    "fs.option.",  # what a program asks of one stream
    "fs.s3a.capability.",
)
FILE_NAME: Final = re.compile(
    r".*\.(?:css|gif|html?|ico|jar|js|json|jsp|keytab|log|png|properties|proto|sh|tmp|txt|xml)"
)
SHOUTED: Final = re.compile(r"(?:.*\.)?[A-Z][A-Z0-9_]+(?:\..*)?")
"""A part in capitals: an entry of an HFile's own index, or a pool of threads."""


def is_name(text: str) -> bool:
    """Return whether it is written like a key: at least two parts with points between, and nothing open at the end."""
    return NAME.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Return whether a string in a program is a key, and not a name of something else."""
    return (
        text.startswith(ROOTS)
        and is_name(text)
        and text not in NOT_KEYS
        and not text.startswith(NOT_ROOTS)
        and FILE_NAME.fullmatch(text) is None
        and SHOUTED.fullmatch(text) is None
    )
