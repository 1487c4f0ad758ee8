"""Prints the state of a node of Trino as one JSON document. Systems Manager runs it as root. Python 3.9.

It changes nothing. A fact that it cannot read is null and never an error, because a missing fact is an answer, too.
Source: Trino 476, MBeanResource, ServerInfo and AlluxioCacheStats; Alluxio 2.9.6, MetricKey.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from warmbase.operations.on_node.node_facts import DATA_NODE, DATA_NODE_DIRECTORY, PROCESSES, fetched, node, process

TRINO = "http://127.0.0.1:8889"  # EMR Release Guide, emr-trino: EMR's port of Trino
USER = {"X-Trino-User": "warmbase"}
MAIN_CLASS = "io.trino.server.TrinoServer"
READS = "io.trino.filesystem.alluxio:type=AlluxioCacheStats,name={catalog},catalog={catalog}"
SPACE_USED = "org.alluxio:name=Client.CacheSpaceUsedCount,type=counters"
RUNTIME = "java.lang:type=Runtime"
MEMORY = "java.lang:type=Memory"
UNITS = {
    "trino-server.service": ("DropInPaths", "ExecStartPre", "ActiveState"),
    DATA_NODE: ("DropInPaths", "ActiveState"),
    "warmbase-trino-metrics.timer": ("ActiveState",),
}
CONFIGURATION = Path("/etc/trino/conf")
DIRECTORIES = "fs.cache.directories"
# judgement: a worker of two million pages takes less; Systems Manager ends the program after two minutes.
COUNT_SECONDS = 60.0


def info(url: str) -> dict[str, Any] | None:
    """Return the server's version, and whether it is the coordinator or still starting; None where none answers."""
    try:
        answer = json.loads(fetched(f"{url}/v1/info", USER) or b"")
        fields = {name: answer[name] for name in ("coordinator", "starting")}
        return {"version": answer["nodeVersion"]["version"], **fields}
    except (ValueError, KeyError, TypeError):
        return None


def bean(url: str, name: str) -> dict[str, Any] | None:
    """Return the attributes of a bean; None where Trino has no such bean, or does not answer."""
    try:
        answer = json.loads(fetched(f"{url}/v1/jmx/mbean/{quote(name, safe=':=,')}", USER) or b"")
        return {item["name"]: item["value"] for item in answer["attributes"] if "value" in item}
    except (ValueError, KeyError, TypeError):
        return None


def figures(url: str, catalog: str) -> dict[str, Any]:
    """Return the figures of Trino's JVM and of the catalog's cache; None for each that Trino does not have."""
    runtime, memory = bean(url, RUNTIME) or {}, bean(url, MEMORY) or {}
    reads, space = bean(url, READS.format(catalog=catalog)) or {}, bean(url, SPACE_USED) or {}
    return {
        "java": runtime.get("SpecVersion"),
        "started_ms": runtime.get("StartTime"),
        "heap_bytes": (memory.get("HeapMemoryUsage") or {}).get("max"),
        "cached_bytes": reads.get("CacheReads.AllTime.Total"),
        "fetched_bytes": reads.get("ExternalReads.AllTime.Total"),
        "space_bytes": space.get("Count"),
    }


def configuration(directory: Path, keys: Iterable[str]) -> dict[str, str | None]:
    """Return the value of each key, which is written FILE:KEY; None where the file does not have it."""
    return {name: properties(directory / name.partition(":")[0]).get(name.partition(":")[2]) for name in keys}


def properties(file: Path) -> dict[str, str]:
    """Return the properties of a file; none where it cannot be read."""
    try:
        lines = (line.partition("=") for line in file.read_text(encoding="utf-8").splitlines())
        return {key.strip(): value.strip() for key, _, value in lines if not key.startswith("#")}
    except OSError:
        return {}


def pages(directories: list[str], started_ms: float | None) -> dict[str, int] | None:
    """Return the bytes of all pages on disk, and of those older than Trino's start; None where counting takes long."""
    if started_ms is None:
        return None
    deadline, all_bytes, older_bytes = time.monotonic() + COUNT_SECONDS, 0, 0
    for place, _, names in (entry for directory in directories for entry in os.walk(directory)):
        if time.monotonic() > deadline:
            return None
        for name in names:
            try:
                status = Path(place, name).lstat()
            except OSError:
                continue  # evicted meanwhile
            all_bytes += status.st_size
            older_bytes += status.st_size if status.st_mtime * 1000 < started_ms else 0
    return {"bytes": all_bytes, "older_bytes": older_bytes}


def main() -> None:
    """Print the facts as one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--trino", default=TRINO)
    parser.add_argument("--proc", type=Path, default=PROCESSES)
    parser.add_argument("--configuration", type=Path, default=CONFIGURATION)
    parser.add_argument("--catalog", required=True)
    parser.add_argument("keys", nargs="*", help="FILE:KEY")
    arguments = parser.parse_args()
    catalog = properties(arguments.configuration / "catalog" / f"{arguments.catalog}.properties")
    caches = [name.strip() for name in catalog.get(DIRECTORIES, "").split(",") if name.strip()]
    counted = figures(arguments.trino, arguments.catalog)
    facts = {
        **node(UNITS, (DATA_NODE_DIRECTORY, *caches)),
        "trino": process(arguments.proc, MAIN_CLASS),
        "info": info(arguments.trino),
        "figures": counted,
        "configuration": configuration(arguments.configuration, arguments.keys),
        "pages": pages(caches, counted["started_ms"]),
    }
    json.dump(facts, sys.stdout)


if __name__ == "__main__":
    main()
