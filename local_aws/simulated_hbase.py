"""A small HBase that the stand-ins of `hbase` and `systemctl` answer for; its state is the file hbase-state.json.

`simulated_hbase.py control` answers the programs of steps such as control-regions: VERB and its words are in ARGUMENTS.
`simulated_hbase.py restart HOST` restarts the RegionServer of that node. The program runs alone, and imports nothing of
this project. TMPDIR has the state, SERVERS the hosts of the RegionServers, and STATE names what is wrong:

- `transition`: a region is in transition; `moved`: the last region of the first table was moved from the first server
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


def begun() -> dict[str, Any]:
    """Return a new HBase: every server has regions of both tables, and the first one has hbase:meta."""
    servers = [f"{host}:{PORT}" for host in os.environ.get("SERVERS", "stand-in-1 stand-in-2").split()]
    regions = {META: {"table": "hbase:meta", "server": servers[0], "moved": False}}
    for table in TABLES:
        for number in range(REGIONS_PER_SERVER * len(servers)):
            name = hashlib.md5(f"{table},{number}".encode(), usedforsecurity=False).hexdigest()
            regions[name] = {"table": table, "server": servers[number % len(servers)], "moved": False}
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


def main() -> None:
    """Read the state, answer, and write it."""
    file = Path(os.environ["TMPDIR"]) / "hbase-state.json"
    hbase = json.loads(file.read_text(encoding="utf-8")) if file.exists() else begun()
    if sys.argv[1] == "restart":
        restart(hbase, f"{sys.argv[2]}:{PORT}")
    else:
        verb, *words = os.environ["ARGUMENTS"].split()
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
    "stored": stored,
    "compact": compact,
    "events": events,
}

if __name__ == "__main__":
    main()
