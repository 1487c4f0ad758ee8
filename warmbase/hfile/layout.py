"""The layout of an HBase root: what the paths below it mean, and a root in a directory of this machine.

Source: HBase 2.6.2 HConstants, StoreFileInfo, HFileLink, FSTableDescriptors.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from msgspec import Struct, field

from warmbase.ground.block import FAMILY_FORM, TABLE_FORM
from warmbase.ground.errors import InvalidInput
from warmbase.hfile.cursor import LocalFile, Readable

SYSTEM_NAMESPACE: Final = "hbase"
DATA: Final = "data"
APART: Final = {
    "archive": "archive",
    ".tmp": "temporary",
    "staging": "temporary",
    "WALs": "write-ahead logs",
    "oldWALs": "write-ahead logs",
    "MasterData": "the master's own",
    "mobdir": "MOB files",
    ".hbase-snapshot": "snapshots",
    "corrupt": "moved aside as corrupt",
    ".corrupt": "moved aside as corrupt",
}
"""First directories below the root beside `data`, by what lies there."""
REGION: Final = re.compile(r"[0-9a-f]{32}|[0-9]{1,10}")
NAME: Final = r"[0-9a-f]+(?:_SeqId_[0-9]+_|_del)?"
STORE_FILE: Final = re.compile(NAME)
REFERENCE: Final = re.compile(rf"(?:{NAME}|[^/]+=[0-9a-f]+-{NAME})\.(?P<region>.+)")
LINK: Final = re.compile(rf"(?:(?P<namespace>[^=]+)=)?(?P<table>[^=]+)=(?P<region>[0-9a-f]+)-(?P<file>{NAME})")
LIST_DIRECTORY: Final = ".filelist"
LIST: Final = re.compile(r"f[12](?:\.(?P<number>[0-9]+))?")
DESCRIPTOR: Final = re.compile(r"\.tableinfo(?:\.(?P<number>[0-9]+))?(?:\..*)?")
NOT_UTF_8: Final = re.compile("[\ud800-\udfff]")
"""How Python reads bytes of a file's name that are not UTF-8. HBase allows them, but no document can have them."""
REGION_PARTS: Final = 3  # region, family, file


class FileEntry(NamedTuple):
    """One file: its path below the root, and its bytes. `stamp` changes when it does."""

    path: str
    size_bytes: int
    stamp: str


class RootStore(Protocol):
    """Where an HBase root lies."""

    @property
    def url(self) -> str:
        """Return the location of the root as a person writes it."""

    def files(self) -> Iterator[FileEntry]:
        """Return every file below the root, in any order."""

    def readable(self, stored: FileEntry) -> Readable:
        """One of them, to be read in pieces."""


class FamilyFiles(Struct):
    """One column family of one table: its store files, and the lists of live ones by directory of a region's family."""

    table: str
    name: str
    files: list[FileEntry] = field(default_factory=list)
    lists: dict[str, list[FileEntry]] = field(default_factory=dict)
    links: list[tuple[FileEntry, str]] = field(default_factory=list)

    @property
    def regions(self) -> int:
        """That have a store file of it."""
        return len({file.path.rsplit("/", 2)[0] for file in self.files})


class Listing(Struct):
    """A whole root: families by table and name, and what else lies there, by kind: files and bytes.

    `archived` are store files of the archive, to which links may lead; `descriptors` the newest of each table.
    """

    families: dict[tuple[str, str], FamilyFiles] = field(default_factory=dict)
    apart: dict[str, list[int]] = field(default_factory=dict)
    archived: dict[str, FileEntry] = field(default_factory=dict)
    descriptors: dict[str, FileEntry] = field(default_factory=dict)
    files: int = 0
    size_bytes: int = 0

    def put_apart(self, kind: str, stored: FileEntry) -> None:
        """Count a file that is not read."""
        counted = self.apart.setdefault(kind, [0, 0])
        counted[0] += 1
        counted[1] += stored.size_bytes


def listing(files: Iterable[FileEntry]) -> Listing:
    """Return every file of a root in its place."""
    contents = Listing()
    for stored in files:
        # What a console or Hadoop leaves for a directory is none.
        if stored.path.endswith(("/", "_$folder$")):
            continue
        contents.files += 1
        contents.size_bytes += stored.size_bytes
        if NOT_UTF_8.search(stored.path):
            contents.put_apart("names that are not UTF-8", stored)
            continue
        first, _, rest = stored.path.partition("/")
        if first == DATA:
            _place(contents, stored, rest)
            continue
        if first == "archive" and STORE_FILE.fullmatch(stored.path.rpartition("/")[2]):
            contents.archived[stored.path] = stored
        contents.put_apart(APART.get(first, "others"), stored)
    return contents


def _place(listing: Listing, stored: FileEntry, path: str) -> None:
    """Add the file with this path below `data` to the part of the listing where it belongs."""
    namespace, _, rest = path.partition("/")
    name, _, rest = rest.partition("/")
    parts = rest.split("/")
    table = name if namespace == "default" else f"{namespace}:{name}"
    if namespace == SYSTEM_NAMESPACE:
        listing.put_apart("HBase's own tables", stored)
    elif not re.fullmatch(TABLE_FORM, table):
        listing.put_apart("no table, because HBase does not allow the name", stored)
    elif parts[0] == ".tabledesc":
        before = listing.descriptors.get(table)
        number = _number(parts[-1])
        if number >= 0 and (before is None or _number(before.path.rpartition("/")[2]) < number):
            listing.descriptors[table] = stored
    elif not REGION.fullmatch(parts[0]) or len(parts) < REGION_PARTS:
        listing.put_apart("descriptors and temporary files", stored)
    elif len(parts) == REGION_PARTS + 1 and parts[2] == LIST_DIRECTORY and LIST.fullmatch(parts[3]):
        lists = _family(listing, table, parts[1]).lists
        lists.setdefault(stored.path.rsplit("/", 2)[0], []).append(stored)
    elif len(parts) == REGION_PARTS and re.fullmatch(FAMILY_FORM, parts[1]) and parts[1] != "recovered.edits":
        family, name = _family(listing, table, parts[1]), parts[2]
        if STORE_FILE.fullmatch(name):
            family.files.append(stored)
        elif link := LINK.fullmatch(name):
            namespace = link["namespace"] or "default"
            target = f"data/{namespace}/{link['table']}/{link['region']}/{family.name}/{link['file']}"
            family.links.append((stored, target))
        elif REFERENCE.fullmatch(name):
            # A reference stands for half of a file in the region that was split, where the file is counted.
            listing.put_apart("references to files of split regions", stored)
        else:
            listing.put_apart("others", stored)
    else:
        listing.put_apart("descriptors and temporary files", stored)


def _family(listing: Listing, table: str, name: str) -> FamilyFiles:
    return listing.families.setdefault((table, name), FamilyFiles(table, name))


def _number(name: str) -> int:
    """Return the number in the name of a descriptor, or -1 if the file is none."""
    match = DESCRIPTOR.fullmatch(name)
    return int(match["number"] or 0) if match else -1


def follow_links(listing: Listing) -> None:
    """A table that was cloned names files of another: in place they are counted there, in the archive here."""
    if not any(family.links for family in listing.families.values()):
        return
    there = {stored.path.removeprefix("archive/") for family in listing.families.values() for stored in family.files}
    for family in listing.families.values():
        for link, target in family.links:
            if target in there:
                listing.put_apart("links to files that are counted elsewhere", link)
            elif archived := listing.archived.pop(f"archive/{target}", None):
                family.files.append(archived)
                there.add(target)
                listing.apart["archive"][0] -= 1
                listing.apart["archive"][1] -= archived.size_bytes
            else:
                listing.put_apart("links that lead nowhere", link)


class LocalRoot(Struct, frozen=True):
    """An HBase root in a local directory."""

    directory: Path

    @property
    def url(self) -> str:
        """Return the path of the directory."""
        return str(self.directory)

    def files(self) -> Iterator[FileEntry]:
        """Yield every regular file below it that is still there when its turn comes."""
        for directory, _, names in os.walk(self.directory, onerror=_refuse):
            for name in names:
                path = Path(directory, name)
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                if not stat.S_ISREG(status.st_mode):
                    continue
                relative = path.relative_to(self.directory).as_posix()
                yield FileEntry(relative, status.st_size, str(status.st_mtime_ns))

    def readable(self, stored: FileEntry) -> LocalFile:
        """Open one of the files."""
        return LocalFile(self.directory / stored.path)


def _refuse(error: OSError) -> None:
    """A directory that cannot be listed would be missing without a word."""
    if not isinstance(error, FileNotFoundError):
        fix = "run it as somebody who may read the whole root"
        raise InvalidInput.of(where=str(error.filename), what="cannot be listed", why=str(error), fix=fix)
