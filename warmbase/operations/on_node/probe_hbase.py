"""Prints the state of a core node of HBase as one JSON document. Systems Manager runs it as root. Python 3.9.

It changes nothing. A fact that it cannot read is null and never an error, because a missing fact is an answer, too.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from warmbase.operations.on_node.node_facts import DATA_NODE, DATA_NODE_DIRECTORY, PROCESSES, fetched, node, process

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
    DATA_NODE: ("DropInPaths", "ActiveState"),
    "warmbase-cache-metrics.timer": ("ActiveState",),
    "warmbase-claim.timer": ("ActiveState",),
}
JAVA = Path("/usr/lib/jvm")
LOGS = Path("/var/log/hbase")
COLLECTOR_LOG = "regionserver-gc.log"


def logs(directory: Path) -> dict[str, Any]:
    """Return the size of the collector's log, and whether the RegionServer's log has the DEBUG lines of our logger."""
    collector, has_lines = directory / COLLECTOR_LOG, False
    for log in directory.glob("*regionserver*.log"):
        # Lines that HBase does not write by default.
        with suppress(OSError), log.open("rb") as lines:
            has_lines = has_lines or any(b"BucketAllocator" in line and b" DEBUG " in line for line in lines)
    return {
        "collector_bytes": collector.stat().st_size if collector.is_file() else None,
        "allocator_debug": has_lines,
    }


def figures(url: str) -> dict[str, float] | None:
    """Return the RegionServer's own figures for its cache and for short-circuit reads."""
    try:
        [bean] = json.loads(fetched(f"{url}/jmx?qry={quote(BEAN, safe=':=,')}", {}) or b"")["beans"]
        return {name: bean[name] for name in FIGURES if name in bean}
    except (ValueError, KeyError, TypeError):
        return None


def configuration(url: str, keys: Iterator[str]) -> dict[str, str | None] | None:
    """Return the RegionServer's value of each key; None for a key that it does not have."""
    page = fetched(f"{url}/conf", {})
    if page is None:
        return None
    try:
        tree = ET.fromstring(page)  # noqa: S314 - the RegionServer of this node
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
        **node(UNITS, (DATA_NODE_DIRECTORY,)),
        "java": sorted(home.name for home in JAVA.glob("*")) if JAVA.is_dir() else None,
        "region_server": process(arguments.proc, MAIN_CLASS),
        "logs": logs(arguments.logs),
        "stranger": stranger(arguments.rpc),
        "figures": figures(arguments.region_server),
        "configuration": configuration(arguments.region_server, iter(arguments.keys)),
    }
    json.dump(facts, sys.stdout)


if __name__ == "__main__":
    main()
