"""Run by systemd as root before each start of Trino on a worker; installed by guard-trino-worker.sh.

It refuses the start when a volume is not mounted, because the cache or spilled data would fill the root disk. It makes
the directories for the user trino, and says when a volume has less room than the cache may take. Trino starts then: a
cache without room only stops growing, and the worker reads from S3.

Directories and sizes of the cache come from the catalog's file on the node, because a cluster is tuned in place. The
arguments are those of the launch; they serve only where that file does not help. Python 3.9.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

MIB = 1 << 20
UNITS = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "PB": 1 << 50}
"""The units of Trino's data sizes, which are binary (io.airlift.units.DataSize)."""


class Refused(Exception):
    """Trino must not start; the message says what is wrong, why, and how to mend it."""


def problem(what: str, why: str, fix: str) -> str:
    """Return what is wrong, why, and how to mend it, one on a line."""
    return f"{what}\n  {why}\n  fix: {fix}"


def say(message: str) -> None:
    """Writes a line to the journal of the unit."""
    sys.stderr.write(f"before-trino-worker: {message}\n")


def read_size(text: str) -> int:
    """Return a data size of Trino, in bytes. Raises ValueError for any other text."""
    number = text.strip().rstrip("BkMGTP")
    unit = text.strip()[len(number) :]
    if unit not in UNITS:
        raise ValueError(f"{text!r} is not a size")
    return int(float(number) * UNITS[unit])


def catalog_sizes(catalog: Path) -> dict[Path, int]:
    """Return the bytes that the cache may take in each directory.

    Raises OSError, KeyError or ValueError where the catalog's file does not say it.
    """
    lines = (line.partition("=") for line in catalog.read_text(encoding="utf-8").splitlines())
    properties = {key.strip(): value.strip() for key, _, value in lines}
    directories = [Path(name.strip()) for name in properties["fs.cache.directories"].split(",")]
    sizes = [read_size(size) for size in properties["fs.cache.max-sizes"].split(",")]
    if len(sizes) != len(directories):
        raise ValueError(f"{len(directories)} directories and {len(sizes)} sizes")
    return dict(zip(directories, sizes))


def cache_sizes(options: argparse.Namespace) -> dict[Path, int]:
    """Return the bytes that the cache may take in each directory: those of the catalog, or else those of the launch."""
    try:
        return catalog_sizes(options.catalog)
    except (OSError, KeyError, ValueError) as fault:
        say(f"{options.catalog} does not help: {fault!r}. Using the directories and the size of the launch")
        return dict.fromkeys(options.cache_directory, options.cache_gib << 30)


def volume_of(directory: Path) -> Path:
    """Return the part of the path that mount-volumes.sh mounts, such as /warmbase/cache-2."""
    return Path(*directory.parts[:3])


def make_directory(directory: Path, owner: str) -> None:
    """Makes the directory, if it is missing, for Trino alone. Raises Refused where its volume is not mounted."""
    volume = volume_of(directory)
    if not os.path.ismount(volume):
        raise Refused(problem(f"{volume} is not mounted", f"{directory} would fill the root disk", "mount -a"))
    directory.mkdir(parents=True, exist_ok=True)
    shutil.chown(directory, owner, owner)
    directory.chmod(0o750)


def occupied_bytes(directory: Path) -> int:
    """Return the bytes that the files in a directory take; a file that disappears meanwhile takes none."""
    occupied = 0
    for place, _, names in os.walk(directory):
        for file in map(Path(place).joinpath, names):
            with suppress(FileNotFoundError):
                occupied += file.lstat().st_blocks * 512
    return occupied


def check_room(directory: Path, size_bytes: int) -> None:
    """Says when the volume has less room than the cache may take; its own pages are not counted if all of it fits."""
    free_bytes = shutil.disk_usage(directory).free
    if free_bytes >= size_bytes:
        return
    occupied = occupied_bytes(directory)
    if free_bytes + occupied < size_bytes:
        say(
            problem(
                f"{directory} may take {size_bytes // MIB} MiB, but its volume has {free_bytes // MIB} MiB free and"
                f" {occupied // MIB} MiB in pages of the cache",
                "the cache stops growing when the volume is full, and at 90 % YARN marks the disk as unhealthy and EMR"
                " replaces the node",
                "remove other files from the volume, or make 'fs.cache.max-sizes' smaller",
            )
        )


def arguments() -> argparse.Namespace:
    """Return the arguments that the unit's drop-in gives."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--catalog", type=Path, required=True, help="the catalog's file, whose files are cached")
    parser.add_argument("--cache-directory", type=Path, required=True, action="append")
    parser.add_argument("--cache-gib", type=int, required=True, help="size of the cache in each directory")
    parser.add_argument("--spill-directory", type=Path, required=True)
    parser.add_argument("--owner", required=True)
    return parser.parse_args()


def main() -> int:
    """Return the exit status for systemd: 0 lets Trino start."""
    options = arguments()
    sizes = cache_sizes(options)
    try:
        for directory in (*sizes, options.spill_directory):
            make_directory(directory, options.owner)
    except (Refused, OSError, LookupError) as refusal:
        say(str(refusal))
        return 1
    try:
        for directory, size_bytes in sizes.items():
            check_room(directory, size_bytes)
    except OSError as fault:
        say(f"the room on the volumes cannot be checked: {fault!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
