"""Prints the state of a core node as one JSON document. Systems Manager runs it as root. Python 3.9.

It looks and changes nothing. What cannot be seen is null, and never an error: what is missing is what is looked for.
"""

from __future__ import annotations

import argparse
import json
import pwd
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

REGION_SERVER = "http://127.0.0.1:16030"
BEAN = "Hadoop:service=HBase,name=RegionServer,sub=Server"
MAIN_CLASS = "org.apache.hadoop.hbase.regionserver.HRegionServer"
FIGURES = ("l2CacheSize", "l2CacheFreeSize", "shortCircuitBytesRead")
UNITS = {
    "hbase-regionserver.service": ("DropInPaths", "ExecStop", "TimeoutStopUSec", "ActiveState"),
    "hadoop-hdfs-datanode.service": ("DropInPaths", "ActiveState"),
    "warmbase-cache-metrics.timer": ("ActiveState",),
}
MOUNTS = ("/warmbase/cache", "/warmbase/system")
JAVA = Path("/usr/lib/jvm")
ACTIONS = Path("/var/lib/warmbase/actions")
LOGS = Path("/var/log/hbase")
PROCESSES = Path("/proc")
COLLECTOR_LOG = "regionserver-gc.log"
OWNED = ("/warmbase/system/hdfs",)
SECONDS = 20.0
LONGEST_ARGUMENT = 500


def region_server(processes: Path) -> dict[str, Any] | None:
    """Return its process: user, arguments and limits; None where none runs."""
    for place in processes.glob("[0-9]*"):
        try:
            arguments = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
            if MAIN_CLASS not in arguments:
                continue
            limits = (place / "limits").read_text(encoding="utf-8")
            return {
                "pid": int(place.name),
                "user": pwd.getpwuid(place.stat().st_uid).pw_name,
                # The class path is long and says nothing here.
                "arguments": [argument for argument in arguments if len(argument) < LONGEST_ARGUMENT],
                "open_files": limit(limits, "Max open files"),
                "processes": limit(limits, "Max processes"),
            }
        except (OSError, KeyError):
            continue
    return None


def limit(limits: str, name: str) -> int | None:
    """The soft one; None where there is none."""
    found = re.search(rf"^{name} +(\d+)", limits, re.MULTILINE)
    return int(found.group(1)) if found else None


def unit(name: str) -> dict[str, str] | None:
    """Return what systemd says of it."""
    said = output("systemctl", "show", "--property", ",".join(UNITS[name]), name)
    if said is None:
        return None
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def mount(path: str) -> dict[str, Any] | None:
    """Where it comes from, and how large that is."""
    said = output("findmnt", "--json", "--bytes", "--output", "SOURCE,FSTYPE,OPTIONS,SIZE", "--mountpoint", path)
    if said is None:
        return None
    [found] = json.loads(said)["filesystems"]
    return dict(found)


def devices() -> list[dict[str, Any]] | None:
    """Disks, partitions and mappers: of each its name, its parent's, kind, size and where it is mounted."""
    said = output("lsblk", "--json", "--bytes", "--list", "--output", "NAME,PKNAME,TYPE,SIZE,MOUNTPOINT")
    return None if said is None else list(json.loads(said)["blockdevices"])


def owner(path: str) -> str | None:
    """Return a directory's user and mode."""
    try:
        status = Path(path).stat()
        return f"{pwd.getpwuid(status.st_uid).pw_name} {status.st_mode & 0o7777:o}"
    except (OSError, KeyError):
        return None


def logs(directory: Path) -> dict[str, Any]:
    """Return the size of the collector's log, and whether the RegionServer's log has what a logger asks for."""
    collector = directory / COLLECTOR_LOG
    return {
        "collector_bytes": collector.stat().st_size if collector.is_file() else None,
        "allocator_debug": any(debugs(path) for path in directory.glob("*regionserver*.log")),
    }


def debugs(log: Path) -> bool:
    """A line of BucketAllocator's at level DEBUG: it is below what HBase writes by itself."""
    try:
        with log.open("rb") as lines:
            return any(b"BucketAllocator" in line and b" DEBUG " in line for line in lines)
    except OSError:
        return False


def output(*command: str) -> str | None:
    """Return what it prints; None where it is not there, or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def fetched(url: str) -> bytes | None:
    """Return the page; None where nobody answers."""
    try:
        with urlopen(url, timeout=SECONDS) as answer:  # noqa: S310 - the RegionServer of this node
            body: bytes = answer.read()
            return body
    except (URLError, OSError, ValueError):
        return None


def figures(url: str) -> dict[str, float] | None:
    """Return the RegionServer's own figures of the cache and of short-circuit reads."""
    try:
        [bean] = json.loads(fetched(f"{url}/jmx?qry={quote(BEAN, safe=':=,')}") or b"")["beans"]
        return {name: bean[name] for name in FIGURES if name in bean}
    except (ValueError, KeyError, TypeError):
        return None


def configuration(url: str, keys: Iterator[str]) -> dict[str, str | None] | None:
    """Return what the RegionServer itself reads for each key; null for one that it does not have."""
    page = fetched(f"{url}/conf")
    if page is None:
        return None
    try:
        tree = ET.fromstring(page)  # noqa: S314 - see above
    except ET.ParseError:
        return None
    values = {each.findtext("name"): each.findtext("value") for each in tree.iter("property")}
    return {key: values.get(key) for key in keys}


def first_line(file: Path) -> str:
    """Return the state of an action from its file: `begun`, or `done`."""
    return file.read_text(errors="replace").partition("\n")[0]


def main() -> None:
    """Prints the document, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--region-server", default=REGION_SERVER)
    parser.add_argument("--logs", type=Path, default=LOGS)
    parser.add_argument("--proc", type=Path, default=PROCESSES)
    parser.add_argument("keys", nargs="*")
    given = parser.parse_args()
    facts = {
        "python": ".".join(map(str, sys.version_info[:2])),
        "java": sorted(each.name for each in JAVA.glob("*")) if JAVA.is_dir() else None,
        "region_server": region_server(given.proc),
        "units": {name: unit(name) for name in UNITS},
        "mounts": {path: mount(path) for path in MOUNTS},
        "devices": devices(),
        "owners": {path: owner(path) for path in OWNED},
        "logs": logs(given.logs),
        "actions": {each.name: first_line(each) for each in sorted(ACTIONS.glob("*"))},
        "figures": figures(given.region_server),
        "configuration": configuration(given.region_server, iter(given.keys)),
    }
    json.dump(facts, sys.stdout)


if __name__ == "__main__":
    main()
