"""The output of HBase's own HFilePrettyPrinter for a store file, read from the text beside it."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from msgspec import Struct

FILES = Path(__file__).parent / "files"
SUFFIXES = {".txt", ".md"}
UNREAD = {"encrypted", "encrypted-snappy-diff", "prefix-tree-index"}
"""Files whose index we cannot read: nobody can read them without a key, and HBase itself cannot read the last one."""


def written() -> list[Path]:
    """Files that a real HBase wrote."""
    return sorted(file for file in FILES.iterdir() if file.suffix not in SUFFIXES)


def readable() -> list[Path]:
    """Those that can be read to the last block."""
    return [file for file in written() if file.stem not in UNREAD]


class Printed(Struct, frozen=True, dict=True):
    """Its text, by part."""

    text: str

    @classmethod
    def of(cls, file: Path) -> Printed:
        """Return what is beside that file."""
        return cls(file.with_name(f"{file.name}.txt").read_text(encoding="utf-8", errors="replace"))

    def trailer(self, name: str) -> str:
        """Return a value of the trailer."""
        found = re.search(rf"^ {{4}}{name}=(.*?),?$", self._part("Trailer:", "Fileinfo:"), re.MULTILINE)
        assert found, name
        return found[1]

    @cached_property
    def info(self) -> dict[str, str]:
        """The file info."""
        lines = self._part("Fileinfo:", "Mid-key:").splitlines()
        return dict(line.strip().split(" = ", 1) for line in lines if " = " in line)

    def bloom(self, title: str) -> dict[str, int] | None:
        """Figures of a Bloom filter; None where there is none."""
        lines = self._part(f"\n{title}:", "Block Index:").split("Delete Family Bloom filter:")[0].splitlines()
        pairs = [line.strip().split(": ") for line in lines if ": " in line]
        return {name: int(value.rstrip("%")) for name, value in pairs if value.rstrip("%").isdigit()} or None

    @cached_property
    def root(self) -> list[tuple[int, int]]:
        """Offset and size of each entry of the root index."""
        pairs = re.findall(r"^ {2}offset=(\d+), dataSize=(\d+)$", self.text, re.MULTILINE)
        return [(int(offset), int(size)) for offset, size in pairs]

    @cached_property
    def blocks(self) -> list[dict[str, str]]:
        """Every block between the first data block and the last, as its header was printed."""
        return [
            dict(re.findall(r"(\w+)=([\w*-]+)", line.split(", buf=")[0]))
            for line in self.text.splitlines()
            if line.startswith("[blockType=")
        ]

    def _part(self, begin: str, end: str) -> str:
        return self.text.partition(begin)[2].partition(end)[0]
