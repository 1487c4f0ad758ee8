"""A small HBase that the stand-ins of `hbase` and `systemctl` answer for; its state is the file hbase-state.json.

`simulated_hbase.py control` answers the programs of steps such as control-regions; ARGUMENTS is a JSON list.
`simulated_hbase.py restart HOST` restarts the RegionServer of that node. The program runs alone, and imports nothing of
this project. TMPDIR has the state, SERVERS the hosts of the RegionServers, and STATE names what is wrong:

- `transition`: a region is in transition; `moved`: the last region of the first table was moved from the first server
- `away`: the regions of the last server are open on the first, while its cache, or its DataNode, keeps their blocks
- `stuck`: like `away`, but no replica of a block can be moved
- `elsewhere`: a region of a server that restarts opens on another one; `lost`: a server that restarts does not return
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TABLES = ("stand-in-users", "stand_in:events")
REGIONS_PER_SERVER = 2
META = "1588230740"
PORT = 16020
LAUNCH_MS = 1_762_500_000_000
AWAY_SECONDS = 0.2  # long enough that a command sees a server that is away
NEVER = 1e12
STORED_BYTES = 512 << 20
HDFS_BLOCK_BYTES = 128 << 20
BANDWIDTH = 100 << 20
LOCALITY = ("bytes", "local_bytes", "moves", "moved_bytes", "sent_bytes")
BLOCK_BYTES = 65_536
BLOCKS = 128
"""The blocks of each store file that are in the cache of the server that had its region at first."""
DEFAULTS = {
    "BLOCKSIZE": "65536",
    "BLOOMFILTER": "ROW",
    "BLOCKCACHE": "true",
    "DATA_BLOCK_ENCODING": "NONE",
    "COMPRESSION": "NONE",
    "PREFETCH_BLOCKS_ON_OPEN": "false",
    "CACHE_DATA_ON_WRITE": "false",
    "EVICT_BLOCKS_ON_CLOSE": "false",
}
"""HBase's defaults, as its descriptors report them."""


def begun() -> dict[str, Any]:
    """Return a new HBase: every server has regions of both tables, and the first one has hbase:meta."""
    servers = [f"{host}:{PORT}" for host in os.environ.get("SERVERS", "stand-in-1 stand-in-2").split()]
    regions = {META: {"table": "hbase:meta", "server": servers[0], "moved": False}}
    for name, (table, server) in first_homes(servers).items():
        regions[name] = {"table": table, "server": server, "moved": False}
    if os.environ["STATE"] == "moved":
        name = [name for name, region in regions.items() if region["table"] == TABLES[0]][-1]
        regions[name]["moved"] = True
    starts = {server: LAUNCH_MS + number for number, server in enumerate(servers)}
    return {
        "starts": starts,
        "back_at": {},
        "regions": regions,
        "compacted_at": {},
        "balancer_is_on": True,
        "events": [],
    }


def first_homes(servers: list[str]) -> dict[str, tuple[str, str]]:
    """Return the table of each region, and the server that had it at first."""
    return {
        digest(f"{table},{number}"): (table, servers[number % len(servers)])
        for table in TABLES
        for number in range(REGIONS_PER_SERVER * len(servers))
    }


def digest(text: str) -> str:
    """Return a name as HBase makes them."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def persisted_index(servers: list[str], server: str) -> bytes:
    """Return the index of a server's cache, in HBase's old format: the blocks of the regions that it had at first."""
    entries = b"".join(
        entry(digest(name), offset)
        for name, (_, home) in first_homes(servers).items()
        if home == server
        for offset in range(0, BLOCKS * BLOCK_BYTES, BLOCK_BYTES)
    )
    # A cache without blocks has an index too, of its capacity alone.
    whole = field(5, entries) if entries else b"\x08\x00"
    return b"PBUF" + varint(len(whole)) + whole


def entry(file: str, offset: int) -> bytes:
    """Return the entry of one block: its key and its value, as BucketCacheEntry.proto describes them."""
    key = field(1, file.encode()) + b"\x10" + varint(offset) + b"\x18\x00\x20\x01"
    value = b"\x08" + varint(offset) + b"\x10" + varint(BLOCK_BYTES) + b"\x18\x00\x20\x00\x28\x00\x30\x00"
    return field(1, field(1, key) + field(2, value))


def field(number: int, content: bytes) -> bytes:
    """Return a field of protobuf that has a length."""
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def varint(number: int) -> bytes:
    """Return a number in protobuf's bytes of 7 bits."""
    head, rest = number & 0x7F, number >> 7
    return bytes([head | 0x80]) + varint(rest) if rest else bytes([head])


def main() -> None:
    """Read the state, answer, and write it."""
    file = Path(os.environ["TMPDIR"]) / "hbase-state.json"
    hbase = json.loads(file.read_text(encoding="utf-8")) if file.exists() else begun()
    if os.environ["STATE"] in {"away", "stuck"} and "has_gone_away" not in hbase:
        go_away(hbase)
    if sys.argv[1] == "restart":
        restart(hbase, f"{sys.argv[2]}:{PORT}")
    else:
        verb, *words = json.loads(os.environ["ARGUMENTS"])
        reply = VERBS[verb](hbase, *words)
        sys.stdout.write(f"{os.environ['MARK']}{json.dumps(reply)}\n=> nil\n")
    file.write_text(json.dumps(hbase), encoding="utf-8")


def away(hbase: dict[str, Any]) -> list[str]:
    """Return the servers that are restarting."""
    return [server for server, back_at in hbase["back_at"].items() if back_at > time.time()]


def state(hbase: dict[str, Any]) -> dict[str, Any]:
    """Return the servers that live, and the regions; those of a server that is away are not open."""
    absent = away(hbase)
    regions = {
        name: {**region, "server": None if region["server"] in absent else region["server"]}
        for name, region in hbase["regions"].items()
    }
    return {
        "servers": {server: start for server, start in hbase["starts"].items() if server not in absent},
        "regions": regions,
        "in_transition": int(os.environ["STATE"] == "transition"),
        "balancer_is_on": hbase["balancer_is_on"],
    }


def balancer(hbase: dict[str, Any], word: str) -> dict[str, bool]:
    """Switch the balancer; return whether it was on."""
    before, hbase["balancer_is_on"] = hbase["balancer_is_on"], word == "on"
    hbase["events"].append(f"balancer {word}")
    return {"was_on": before}


def reopen(hbase: dict[str, Any], *tables: str) -> dict[str, list[str]]:
    """Reopen each region of the tables on its server."""
    for region in hbase["regions"].values():
        region["moved"] = region["moved"] and region["table"] not in tables
    hbase["events"] += [f"reopen {table}" for table in tables]
    return {"reopened": list(tables)}


def files(hbase: dict[str, Any]) -> dict[str, list[str]]:
    """Return the store files of each open region of a user table."""
    return {name: [digest(name)] for name in stored(hbase)}


def move(hbase: dict[str, Any], pause_seconds: str, *words: str) -> dict[str, list[str]]:
    """Move each region, written REGION@SERVER, with a pause after each."""
    moves = [word.split("@") for word in words]
    for name, server in moves:
        # hbase:meta has no row that would name its last server.
        hbase["regions"][name].update(server=server, moved=name != META)
        hbase["events"].append(f"move {name} to {server}; balancer on: {hbase['balancer_is_on']}")
        time.sleep(float(pause_seconds))
    return {"moved": [name for name, _ in moves]}


def go_away(hbase: dict[str, Any]) -> None:
    """Let the regions of the last server be open on the first, as after the death of its process."""
    servers = list(hbase["starts"])
    for name, (_, home) in first_homes(servers).items():
        if home == servers[-1]:
            hbase["regions"][name].update(server=servers[0], moved=True)
    hbase["has_gone_away"] = True


def events(hbase: dict[str, Any]) -> dict[str, list[str]]:
    """Return what this HBase was told to do; only tests ask."""
    return {"events": hbase["events"]}


def stored(hbase: dict[str, Any]) -> dict[str, Any]:
    """Return the store files of each open region of a user table."""
    absent = away(hbase)
    return {
        name: {
            "table": region["table"],
            "server": region["server"],
            "files": 1 if name in hbase["compacted_at"] else 3,
            "stored_bytes": STORED_BYTES,
            "compacted_at": hbase["compacted_at"].get(name, 0),
        }
        for name, region in hbase["regions"].items()
        if name != META and region["server"] not in absent
    }


def compact(hbase: dict[str, Any], *names: str) -> dict[str, list[str]]:
    """Make one store file of those of each region."""
    hbase["compacted_at"].update(dict.fromkeys(names, time.time()))
    hbase["events"].append(f"compact {' '.join(names)}")
    return {"compacted": list(names)}


def locality(hbase: dict[str, Any]) -> dict[str, Any]:
    """Return how much of each server's store files is on its host; the second copies are on hosts without a server."""
    homes = first_homes(list(hbase["starts"]))
    figures = {server: dict.fromkeys(LOCALITY, 0) for server in hbase["starts"]}
    for name, region in hbase["regions"].items():
        if name == META:
            continue
        here = figures[region["server"]]
        here["bytes"] += STORED_BYTES
        if hbase.get("relocated", {}).get(name, homes[name][1]) == region["server"]:
            here["local_bytes"] += STORED_BYTES
        else:
            here["moved_bytes"] += STORED_BYTES
            here["moves"] += STORED_BYTES // HDFS_BLOCK_BYTES
    return {"servers": figures, "in_transition": int(os.environ["STATE"] == "transition"), "bandwidth": BANDWIDTH}


def relocate(hbase: dict[str, Any], bandwidth: str, seconds: str) -> dict[str, Any]:
    """Move the replicas of one region in each step, so that several steps are needed; in state `stuck`, move none."""
    del seconds
    homes, relocated = first_homes(list(hbase["starts"])), hbase.setdefault("relocated", {})
    away = [
        name
        for name, region in hbase["regions"].items()
        if name != META and relocated.get(name, homes[name][1]) != region["server"]
    ]
    moved = [] if os.environ["STATE"] == "stuck" else away[:1]
    for name in moved:
        relocated[name] = hbase["regions"][name]["server"]
        hbase["events"].append(f"relocate {name} at {bandwidth}")
    return {"moved_bytes": len(moved) * STORED_BYTES, **locality(hbase)}


def families(hbase: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of the one family of each table: HBase's defaults, until somebody changes them."""
    return {"most_regions": len(hbase["starts"]), "tables": {table: attributes_of(hbase, table) for table in TABLES}}


def attributes_of(hbase: dict[str, Any], table: str) -> dict[str, dict[str, str]]:
    """Return the attributes of a table's family."""
    return {"cf": DEFAULTS | hbase.setdefault("attributes", {}).get(table, {})}


def change(hbase: dict[str, Any], table: str, *words: str) -> dict[str, str]:
    """Change attributes, each written FAMILY:NAME=VALUE, without reopening a region."""
    settings = dict(word.partition(":")[2].split("=") for word in words)
    hbase.setdefault("attributes", {}).setdefault(table, {}).update(settings)
    hbase["events"].append(f"change {table} {' '.join(words)}")
    return {"changed": table}


def reopen_region(hbase: dict[str, Any], name: str) -> dict[str, str]:
    """Reopen one region on its server."""
    hbase["events"].append(f"reopen region of {hbase['regions'][name]['table']}")
    return {"reopened": name, "server": hbase["regions"][name]["server"]}


def restart(hbase: dict[str, Any], server: str) -> None:
    """Stop a server and start it again; the event says which servers are away then."""
    back_at = time.time() + (NEVER if os.environ["STATE"] == "lost" else AWAY_SECONDS)
    hbase["events"].append(f"restart {server}; away: {' '.join([*away(hbase), server])}")
    hbase["starts"][server] += 1000
    hbase["back_at"][server] = back_at
    moved = [region for region in hbase["regions"].values() if region["moved"] and region["server"] == server]
    if os.environ["STATE"] == "elsewhere":
        moved += [region for region in hbase["regions"].values() if region["server"] == server][:1]
    for region in moved:
        region.update(server=next(other for other in hbase["starts"] if other != server), moved=True)


VERBS: dict[str, Callable[..., Any]] = {
    "state": state,
    "balancer": balancer,
    "reopen": reopen,
    "files": files,
    "move": move,
    "stored": stored,
    "compact": compact,
    "locality": locality,
    "relocate": relocate,
    "events": events,
    "families": families,
    "change": change,
    "reopen-region": reopen_region,
}

if __name__ == "__main__":
    main()
