"""Reads the state of a node: its units, mounts, disks, processes, and the pages of its servers. Python 3.9.

The programs that Systems Manager runs on nodes import it. It changes nothing. A fact that it cannot read is None and
never an error, because a missing fact is an answer, too.
"""

from __future__ import annotations

import json
import pwd
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

MOUNTS = ("/warmbase/cache", "/warmbase/system")
MORE_CACHES = "cache-[0-9]*"
DATA_NODE = "hadoop-hdfs-datanode.service"
DATA_NODE_DIRECTORY = "/warmbase/system/hdfs"
ACTIONS = Path("/var/lib/warmbase/actions")
PROCESSES = Path("/proc")
SECONDS = 20.0
LONGEST_ARGUMENT = 500


def node(units: Mapping[str, Sequence[str]], directories: Sequence[str]) -> dict[str, Any]:
    """Return the facts of any node, with these properties of these units, and the owners of these directories."""
    return {
        "python": ".".join(map(str, sys.version_info[:2])),
        "units": {name: unit(name, properties) for name, properties in units.items()},
        "mounts": {path: mount(path) for path in (*MOUNTS, *map(str, Path(MOUNTS[0]).parent.glob(MORE_CACHES)))},
        "devices": devices(),
        "owners": {path: owner(path) for path in directories},
        "actions": {file.name: first_line(file) for file in sorted(ACTIONS.glob("*"))},
    }


def process(processes: Path, main_class: str) -> dict[str, Any] | None:
    """Return the process of a Java program: user, arguments and limits; None where none is running."""
    for place in processes.glob("[0-9]*"):
        try:
            arguments = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
            if main_class not in arguments:
                continue
            limits = (place / "limits").read_text(encoding="utf-8")
            return {
                "pid": int(place.name),
                "user": pwd.getpwuid(place.stat().st_uid).pw_name,
                # The class path is long, and no check reads it.
                "arguments": [argument for argument in arguments if len(argument) < LONGEST_ARGUMENT],
                "open_files": limit(limits, "Max open files"),
                "processes": limit(limits, "Max processes"),
            }
        except (OSError, KeyError):
            continue
    return None


def limit(limits: str, name: str) -> int | None:
    """Return the soft limit; None where there is none."""
    match = re.search(rf"^{name} +(\d+)", limits, re.MULTILINE)
    return int(match.group(1)) if match else None


def unit(name: str, properties: Sequence[str]) -> dict[str, str] | None:
    """Return the properties of a systemd unit; None where systemd does not answer."""
    text = output("systemctl", "show", "--property", ",".join(properties), name)
    if text is None:
        return None
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def mount(path: str) -> dict[str, Any] | None:
    """Return the source, type, options and size of a mount; None where nothing is mounted."""
    text = output("findmnt", "--json", "--bytes", "--output", "SOURCE,FSTYPE,OPTIONS,SIZE", "--mountpoint", path)
    if text is None:
        return None
    [filesystem] = json.loads(text)["filesystems"]
    return dict(filesystem)


def devices() -> list[dict[str, Any]] | None:
    """Return each disk, partition and mapper with its name, parent, type, size and mount point."""
    text = output("lsblk", "--json", "--bytes", "--list", "--output", "NAME,PKNAME,TYPE,SIZE,MOUNTPOINT")
    return None if text is None else list(json.loads(text)["blockdevices"])


def owner(path: str) -> str | None:
    """Return a directory's user and mode."""
    try:
        status = Path(path).stat()
        return f"{pwd.getpwuid(status.st_uid).pw_name} {status.st_mode & 0o7777:o}"
    except (OSError, KeyError):
        return None


def first_line(file: Path) -> str:
    """Return the state of an action from its file: `begun`, or `done`."""
    return file.read_text(errors="replace").partition("\n")[0]


def output(*command: str) -> str | None:
    """Return the output of a command; None where it does not exist, or fails."""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout if ended.returncode == 0 else None


def fetched(url: str, headers: Mapping[str, str]) -> bytes | None:
    """Return the page at a URL; None where no server answers."""
    try:
        with urlopen(Request(url, headers=dict(headers)), timeout=SECONDS) as answer:  # noqa: S310 - a server of this node
            body: bytes = answer.read()
            return body
    except (URLError, OSError, ValueError):
        return None
