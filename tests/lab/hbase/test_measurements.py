"""The names in the measurements of the workload are those of HBase, in each version that the lab has."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

import pytest

from lab.hbase.software.setup import jars_directory
from warmbase.environments.draft import MEASUREMENTS

pytestmark = pytest.mark.lab

CLASSES = re.compile(
    r"/(HFilePrettyPrinter|FixedFileTrailer|HFileReaderImpl|HFileInfo|MetricsWAL|MetricsRegion)[\w$]*\.class$"
)
PRINTED = {"Row size (bytes)", "avgValueLen", "totalUncomressedBytes", "length"}
ATTRIBUTE = re.compile(r"`([a-z][A-Za-z]+)`")
NONE = "none"
KEYS_OF_OURS = {"uniform", "rows", "per_second"}


def strings(version: str) -> Iterator[bytes]:
    """Yield the classes that print store files and publish counters, as bytes."""
    for jar in sorted(jars_directory().glob(f"org/apache/hbase/*/{version}/hbase-*.jar")):
        with zipfile.ZipFile(jar) as archive:
            yield from (archive.read(name) for name in archive.namelist() if CLASSES.search(f"/{name}"))


def versions() -> list[str]:
    directory = jars_directory() / "org/apache/hbase/hbase-server"
    return sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []


@pytest.mark.parametrize("version", versions() or [NONE])
def test_counters_and_printed_names_are_those_of_hbase(version: str) -> None:
    if version == NONE:
        pytest.skip(f"no jars of HBase are in {jars_directory()}")
    classes = b"\n".join(strings(version))
    named = {name for text in MEASUREMENTS.values() for name in ATTRIBUTE.findall(text)} - KEYS_OF_OURS
    beans = {part for text in MEASUREMENTS.values() for part in re.findall(r"RegionServer,(sub=\w+)", text)}
    assert {"readRequestCount", "rpcGetRequestCount", "writtenBytes", "regionCount"} <= named
    assert {name for name in named | beans | PRINTED if name.encode() not in classes} == {"status"}


def test_the_printed_names_are_used() -> None:
    text = " ".join(MEASUREMENTS.values())
    assert {name for name in PRINTED if f"`{name}`" not in text} == set()
