"""Prints the state of a core node as one JSON document. Systems Manager runs it as root. Python 3.9.

It changes nothing. A fact that it cannot read is null and never an error, because a missing fact is an answer, too.
"""

from __future__ import annotations

import argparse
import json
import pwd
import re
import socket
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
RPC_PORT = 16020
# HBase Reference Guide, RPC: "HBas", the version, and the code of an authentication without credentials.
SIMPLE_PREAMBLE = b"HBas\x00\x50"
REFUSAL_SECONDS = 5.0
BEAN = "Hadoop:service=HBase,name=RegionServer,sub=Server"
MAIN_CLASS = "org.apache.hadoop.hbase.regionserver.HRegionServer"
FIGURES = ("l2CacheSize", "l2CacheFreeSize", "l2CacheCount", "shortCircuitBytesRead")
UNITS = {
    "hbase-regionserver.service": ("DropInPaths", "ExecStop", "TimeoutStopUSec", "ActiveState"),
    "hadoop-hdfs-datanode.service": ("DropInPaths", "ActiveState"),
    "warmbase-cache-metrics.timer": ("ActiveState",),
    "warmbase-claim.timer": ("ActiveState",),
}
MOUNTS = ("/warmbase/cache", "/warmbase/system")
MORE_CACHES = "cache-[0-9]*"
JAVA = Path("/usr/lib/jvm")
ACTIONS = Path("/var/lib/warmbase/actions")
LOGS = Path("/var/log/hbase")
PROCESSES = Path("/proc")
COLLECTOR_LOG = "regionserver-gc.log"
OWNED = ("/warmbase/system/hdfs",)
SECONDS = 20.0
LONGEST_ARGUMENT = 500


def region_server(processes: Path) -> dict[str, Any] | None:
    """Return the process of the RegionServer: user, arguments and limits; None where none is running."""
    for place in processes.glob("[0-9]*"):
        try:
            arguments = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
            if MAIN_CLASS not in arguments:
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


def unit(name: str) -> dict[str, str] | None:
    """Return the properties of a systemd unit; None where systemd does not answer."""
    text = output("systemctl", "show", "--property", ",".join(UNITS[name]), name)
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


def logs(directory: Path) -> dict[str, Any]:
    """Return the size of the collector's log, and whether the RegionServer's log has the DEBUG lines of our logger."""
    collector = directory / COLLECTOR_LOG
    return {
        "collector_bytes": collector.stat().st_size if collector.is_file() else None,
        "allocator_debug": any(debugs(path) for path in directory.glob("*regionserver*.log")),
    }


def debugs(log: Path) -> bool:
    """Return whether a log has a DEBUG line of BucketAllocator, which HBase does not write by default."""
    try:
        with log.open("rb") as lines:
            return any(b"BucketAllocator" in line and b" DEBUG " in line for line in lines)
    except OSError:
        return False


def output(*command: str) -> str | None:
    """Return the output of a command; None where it does not exist, or fails."""
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout if process.returncode == 0 else None


def fetched(url: str) -> bytes | None:
    """Return the page at a URL; None where no server answers."""
    try:
        with urlopen(url, timeout=SECONDS) as answer:  # noqa: S310 - the RegionServer of this node
            body: bytes = answer.read()
            return body
    except (URLError, OSError, ValueError):
        return None


def figures(url: str) -> dict[str, float] | None:
    """Return the RegionServer's own figures for its cache and for short-circuit reads."""
    try:
        [bean] = json.loads(fetched(f"{url}/jmx?qry={quote(BEAN, safe=':=,')}") or b"")["beans"]
        return {name: bean[name] for name in FIGURES if name in bean}
    except (ValueError, KeyError, TypeError):
        return None


def configuration(url: str, keys: Iterator[str]) -> dict[str, str | None] | None:
    """Return the RegionServer's value of each key; None for a key that it does not have."""
    page = fetched(f"{url}/conf")
    if page is None:
        return None
    try:
        tree = ET.fromstring(page)  # noqa: S314 - see above
    except ET.ParseError:
        return None
    values = {node.findtext("name"): node.findtext("value") for node in tree.iter("property")}
    return {key: values.get(key) for key in keys}


def stranger(address: str) -> str | None:
    """Return how the RegionServer answers a client without credentials: `refused`, or `served`; None without one.

    A server that authenticates its clients ends the connection; any other waits for the first request.
    """
    host, _, port = address.rpartition(":")
    try:
        connection = socket.create_connection((host, int(port)), timeout=REFUSAL_SECONDS)
    except OSError:
        return None
    with connection:
        try:
            connection.sendall(SIMPLE_PREAMBLE)
            connection.recv(1)
        except socket.timeout:
            return "served"
        except OSError:
            pass
    return "refused"


def first_line(file: Path) -> str:
    """Return the state of an action from its file: `begun`, or `done`."""
    return file.read_text(errors="replace").partition("\n")[0]


def main() -> None:
    """Print the facts as one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--region-server", default=REGION_SERVER)
    parser.add_argument("--rpc", default=f"{socket.gethostname()}:{RPC_PORT}")
    parser.add_argument("--logs", type=Path, default=LOGS)
    parser.add_argument("--proc", type=Path, default=PROCESSES)
    parser.add_argument("keys", nargs="*")
    arguments = parser.parse_args()
    facts = {
        "python": ".".join(map(str, sys.version_info[:2])),
        "java": sorted(home.name for home in JAVA.glob("*")) if JAVA.is_dir() else None,
        "region_server": region_server(arguments.proc),
        "units": {name: unit(name) for name in UNITS},
        "mounts": {path: mount(path) for path in (*MOUNTS, *map(str, Path(MOUNTS[0]).parent.glob(MORE_CACHES)))},
        "devices": devices(),
        "owners": {path: owner(path) for path in OWNED},
        "logs": logs(arguments.logs),
        "actions": {file.name: first_line(file) for file in sorted(ACTIONS.glob("*"))},
        "stranger": stranger(arguments.rpc),
        "figures": figures(arguments.region_server),
        "configuration": configuration(arguments.region_server, iter(arguments.keys)),
    }
    json.dump(facts, sys.stdout)


if __name__ == "__main__":
    main()
