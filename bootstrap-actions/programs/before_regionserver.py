"""Run by systemd as root before each start of the RegionServer; installed by guard-regionserver.sh.

It makes the directories of the cache file and of the persistence index, removes what a crash left behind, moves a
damaged index aside, which would stop HBase 2.6.1 to 2.6.4, and refuses the start when the volume cannot hold the cache.

Sizes and paths come from the node's hbase-site.xml, because a cluster is tuned in place. The arguments are those of the
launch; they serve only where that file does not help, which the journal then says. Python 3.9.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar
from xml.etree import ElementTree as ET

Value = TypeVar("Value")

MIB = 1 << 20
HBASE_SITE = Path("/etc/hbase/conf/hbase-site.xml")
SKIP_INDEX_GUARD = Path("/etc/warmbase/skip-index-guard")
SKIP_ROOM_CHECK = Path("/etc/warmbase/skip-room-check")

# 256 TiB: the BucketCache stores an offset in 40 bits, in units of 256 bytes.
MOST_CACHE_MIB = 1 << 28

# BucketProtoUtils.serializeAsPB writes a magic and then messages, each behind its length. Of HBase 2.6.1 to 2.6.4, two
# big-endian numbers come first: blocks per chunk, number of chunks; each chunk is a message. From 2.6.5 on, a message
# that describes the cache comes first, then any number of chunks. 2.6.0 and before wrote one; later releases read it.
MAGIC = b"V2UF"
UNCHUNKED_MAGIC = b"PBUF"
CHUNKS = struct.Struct(">qq")
# protobuf writes a message's length, an int32, in at most 5 bytes of 7 bits each.
LENGTH_BYTES = 5

WITH_DAMAGE = {
    "chunked": "HBase 2.6.1 to 2.6.4 may fail to start from it",
    "streamed": "HBase 2.6.5 and later would overwrite it without a message",
}

# judgement: one damaged index to study and one to compare; at 1.3 GiB per TiB of cache, more would fill the volume.
DAMAGED_COPIES = 2


class Refused(Exception):
    """The RegionServer must not start; the message says what is wrong, why, and how to mend it."""

    def __init__(self, what: str, why: str, fix: str) -> None:
        super().__init__(f"{what}\n  {why}\n  fix: {fix}")


def say(message: str) -> None:
    """Writes a line to the journal of the unit."""
    sys.stderr.write(f"before-regionserver: {message}\n")


class BucketCache(NamedTuple):
    """The cache that HBase is about to open; its size is split evenly over its files."""

    size_mib: float
    files: list[Path]
    index_file: Path


def read_size(text: str) -> float:
    """Return a size that HBase accepts, in MiB."""
    size_mib = float(text)
    if not 1 <= size_mib <= MOST_CACHE_MIB:
        raise ValueError(f"{text!r} is not a number of MiB from 1 to {MOST_CACHE_MIB}")
    return size_mib


def read_path(text: str) -> Path:
    """Return the path with dots and symbolic links resolved."""
    if not text.startswith("/") or "${" in text:  # Hadoop replaces ${...} with another property
        raise ValueError(f"{text!r} is not a full path")
    return Path(text).resolve()


def read_ioengine(text: str) -> list[Path]:
    """Return the cache files as HBase reads them: file: and files: mean the same, only commas separate."""
    engine, _, paths = text.partition(":")
    if engine not in ("file", "files"):
        raise ValueError(f"{text!r} is neither file:PATH nor files:PATH,PATH")
    return [read_path(path) for path in paths.rstrip(",").split(",")]


def properties(site: Path) -> dict[str, str]:
    """Return the properties in hbase-site.xml; the last of a name counts, as in Hadoop.

    An external entity is an error, and is never read.
    """
    return {
        item.findtext("name", "").strip(): item.findtext("value", "")
        for item in ET.parse(site).iter("property")  # noqa: S314 - EMR wrote it, and expat reads no external entity
    }


def bucket_cache(options: argparse.Namespace) -> BucketCache | None:
    """Return the cache of hbase-site.xml, or of the launch where that file fails; None when the cache is off."""
    at_launch = {
        "hbase.bucketcache.size": str(options.cache_mib),
        "hbase.bucketcache.ioengine": f"file:{options.cache_file}",
        "hbase.bucketcache.persistent.path": str(options.index_file),
    }
    try:
        current = properties(options.hbase_site)
    except (OSError, ET.ParseError, ValueError, LookupError) as fault:
        say(f"{options.hbase_site} cannot be read: {fault}. Using the values of the launch: {at_launch}")
        current = at_launch
    if current.get("hbase.bucketcache.ioengine", "") in ("", "offheap"):
        return None

    def value(name: str, read: Callable[[str], Value]) -> Value:
        try:
            return read(current[name])
        except KeyError:
            why = "is missing"
        except ValueError as fault:
            why = f"cannot be used: {fault}"
        say(f"'{name}' in {options.hbase_site} {why}. Using the value of the launch: {at_launch[name]}")
        return read(at_launch[name])

    return BucketCache(
        size_mib=value("hbase.bucketcache.size", read_size),
        files=value("hbase.bucketcache.ioengine", read_ioengine),
        index_file=value("hbase.bucketcache.persistent.path", read_path),
    )


def message_end(file: BinaryIO, start: int) -> int | None:
    """Return where the length-delimited message at start ends; None when its length is cut off or not HBase's."""
    file.seek(start)
    length = 0
    for position, byte in enumerate(file.read(LENGTH_BYTES)):
        length |= (byte & 0x7F) << (7 * position)
        if not byte & 0x80:  # the last byte of a length has its top bit clear
            # Every chunk has at least one block, so an empty message is a hole in the file.
            return start + position + 1 + length if length else None
    return None


def whole_messages(file: BinaryIO, position: int, size: int) -> tuple[int, int | None]:
    """Return how many whole messages follow from position on, and where a broken one begins; None if none does.

    Reads a few bytes of each and seeks over the rest.
    """
    count = 0
    while position < size:
        end = message_end(file, position)
        if end is None or end > size:
            return count, position
        count, position = count + 1, end
    return count, None


def index_damage(index: Path, index_format: str) -> str:
    """Return why an HBase that expects this format cannot use this index; empty when it can.

    HBase 2.6.1 to 2.6.4 always read the first chunk, then as many as the file announces. Whole chunks beyond those are
    normal: they appear when the cache grows during the dump, and HBase ignores them.
    """
    size = index.stat().st_size
    with index.open("rb", buffering=0) as file:
        magic = file.read(len(MAGIC))
        if not MAGIC.startswith(magic) and magic != UNCHUNKED_MAGIC:
            return f"begins with {magic!r}, not {MAGIC!r}"
        chunked = magic != UNCHUNKED_MAGIC and index_format == "chunked"
        numbers = file.read(CHUNKS.size) if chunked else b""
        start = len(MAGIC) + (CHUNKS.size if chunked else 0)
        if size <= start:
            return f"{size} bytes: nothing follows the first {start}"
        count, broken = whole_messages(file, start, size)
    announced = CHUNKS.unpack(numbers)[1] if chunked else None
    if broken is not None:
        of = "" if announced is None else f" of {announced}"
        return f"message {count + 1}{of}, at byte {broken} of {size}, is cut off or not a message"
    return "" if announced is None or 0 <= announced <= count else f"{count} chunks, {announced} announced"


def dated_copies(file: Path, suffix: str) -> list[Path]:
    """Return the files whose name is this one's plus a suffix, oldest first (every suffix ends in a time)."""
    name = re.compile(re.escape(file.name) + suffix)
    return sorted(path for path in file.parent.iterdir() if name.fullmatch(path.name))


def damaged_copies(index: Path) -> list[Path]:
    """Return the copies that earlier starts moved aside, oldest first."""
    return dated_copies(index, r"\.damaged-\d+")


def guard_index(index: Path, index_format: str) -> None:
    """Removes an unfinished dump, moves a damaged index aside, and keeps only the last copies."""
    for unfinished in dated_copies(index, r"\d{13}"):  # HBase dumps into <path><milliseconds> and renames
        unfinished.unlink()
        say(f"removed {unfinished}: a dump that a crash cut short")
    damage = index_damage(index, index_format) if index.exists() else ""
    if damage:
        aside = index.with_name(f"{index.name}.damaged-{int(time.time())}")
        index.rename(aside)
        say(f"moved {index} to {aside}: {damage}. {WITH_DAMAGE[index_format]}; the cache starts empty")
        say(f"if the index was good after all: touch {SKIP_INDEX_GUARD}, stop HBase here, rename it back, start HBase")
    for old in damaged_copies(index)[:-DAMAGED_COPIES]:
        old.unlink()
        say(f"removed {old}: the last {DAMAGED_COPIES} copies are enough")


def occupied_bytes(file: Path) -> int:
    """Return the bytes that a file really takes on its volume; HBase's cache file is sparse."""
    return file.stat().st_blocks * 512 if file.exists() else 0


def room(cache: BucketCache, options: argparse.Namespace) -> dict[Path, int]:
    """Return the bytes that each file on the volumes may grow to; a file elsewhere is reported and left out.

    The index grows with the cache, and is written beside its predecessor.
    """
    index_mib = math.ceil(options.index_mib * cache.size_mib / options.cache_mib)
    share_bytes = math.ceil(cache.size_mib * MIB / len(cache.files))
    wanted = {**dict.fromkeys(cache.files, share_bytes), cache.index_file: 2 * index_mib * MIB}
    for file in [file for file in wanted if volume_of(file, options.volume) is None]:
        volumes = " or ".join(map(str, options.volume))
        say(
            f"{file} is not under {volumes}: its directory and its room are not checked, and its disk may be"
            f" HDFS's or the node's own. Name a path under {volumes} in hbase-site.xml"
        )
        del wanted[file]
    return wanted


def volume_of(file: Path, volumes: list[Path]) -> Path | None:
    """Return the volume that the file is on; None if it is on no cache volume."""
    return next((volume for volume in volumes if volume in file.parents), None)


def check_room(volume: Path, wanted: dict[Path, int]) -> None:
    """Raises Refused unless free space and what our own files already take suffice; deletes damaged copies first."""
    needed_bytes = sum(wanted.values())
    while True:
        free_bytes = shutil.disk_usage(volume).free
        ours_bytes = sum(map(occupied_bytes, wanted))
        if free_bytes + ours_bytes >= needed_bytes:
            return
        copies = [copy for file in wanted for copy in damaged_copies(file)]
        if not copies:
            break
        copies[0].unlink()
        say(f"removed {copies[0]} to make room for the cache")
    parts = ", ".join(f"{file} {size // MIB} MiB" for file, size in wanted.items())
    raise Refused(
        f"{volume} has no room for the BucketCache",
        f"{needed_bytes // MIB} MiB needed; {free_bytes // MIB} MiB free and {ours_bytes // MIB} MiB in its files,\n"
        f"  which may grow to: {parts} (an index is written beside its predecessor);\n"
        "  a cache that runs out of disk disables itself",
        "remove other files from the volume, such as those of former paths, or make 'hbase.bucketcache.size'\n"
        f"  smaller, or start anyway: touch {SKIP_ROOM_CHECK}",
    )


def check_rooms(volumes: list[Path], wanted: dict[Path, int]) -> None:
    """Check that each volume has room for its own files. Raises Refused if one has not."""
    for volume in volumes:
        check_room(volume, {file: size for file, size in wanted.items() if volume_of(file, volumes) == volume})


def make_directory(directory: Path, owner: str) -> None:
    """Makes the directory, if it is missing, for the RegionServer alone."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.chown(directory, owner, owner)
    directory.chmod(0o750)


def guarded(name: str, switch: Path, guard: Callable[[], None]) -> None:
    """Runs a guard unless it is switched off; a fault of the guard itself never stops the RegionServer."""
    if switch.exists():
        say(f"{name} skipped, because {switch} exists")
        return
    try:
        guard()
    except Refused:
        raise
    except Exception as fault:  # noqa: BLE001 - a fault of the guard, not of the RegionServer
        say(f"{name} failed: {fault!r}. Continuing without it; to switch it off: touch {switch}")


def arguments() -> argparse.Namespace:
    """Return the arguments that the unit's drop-in gives."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--hbase-site", type=Path, default=HBASE_SITE)
    parser.add_argument("--volume", type=Path, required=True, action="append", help="where a cache volume is mounted")
    parser.add_argument("--owner", required=True)
    parser.add_argument("--cache-file", required=True, help="the cache file, or several with commas between them")
    parser.add_argument("--cache-mib", type=int, required=True)
    parser.add_argument("--index-file", type=Path, required=True)
    parser.add_argument("--index-mib", type=int, required=True)
    parser.add_argument("--index-format", choices=["chunked", "streamed"], required=True)
    return parser.parse_args()


def prepare(options: argparse.Namespace) -> None:
    """Makes directories, guards the index and checks the room, in that order, for each step needs the one before."""
    cache = bucket_cache(options)
    if cache is None:
        say(f"the BucketCache uses no disk ('hbase.bucketcache.ioengine' in {options.hbase_site}): nothing to check")
        return
    for volume in options.volume:
        if not os.path.ismount(volume):
            raise Refused(f"{volume} is not mounted", "the cache would fill the root disk", "mount -a")
    wanted = room(cache, options)
    for file in wanted:
        make_directory(file.parent, options.owner)
    if cache.index_file in wanted:
        guarded("index guard", SKIP_INDEX_GUARD, lambda: guard_index(cache.index_file, options.index_format))
    guarded("room check", SKIP_ROOM_CHECK, lambda: check_rooms(options.volume, wanted))


def main() -> int:
    """Return the exit status for systemd: 0 lets the RegionServer start."""
    try:
        prepare(arguments())
    except (Refused, OSError, LookupError) as refusal:
        say(str(refusal))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
