"""The experiments of the lab, each runnable by itself."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from lab.hbase.experiment import Experiment, ScenarioResult

UNBENCHED: Final[Mapping[str, str]] = {"boots": "boots.rendered", "refused": "boots.refusals"}
"""Scenarios that boot files of many environments, each in a lab of its own; their modules below `lab.hbase`."""

# Scenarios that read the environment's own table come before those that fill another. Among them, those that change the
# table come late, and those that move regions come last: HBase keeps waiting for the server they were moved from.
BENCHED: Final[Mapping[str, str]] = {
    "cache-vs-none": "scenarios.warm_reads",
    "warm-up": "scenarios.warm_up",
    "restart": "scenarios.restart",
    "kill-while-filling": "scenarios.killed_while_filling",
    "multiget": "scenarios.warm_reads:multi_get",
    "volume-bound": "scenarios.volume_bound",
    "model": "scenarios.model",
    "ycsb": "scenarios.warm_reads:ycsb_mixes",
    "two-servers": "scenarios.two_servers",
    "oversubscribed": "scenarios.oversubscribed",
    "compressed": "scenarios.oversubscribed:compressed",
    "index": "scenarios.index",
    "tables": "scenarios.tables",
    "writes": "scenarios.writes",
    "compactions": "scenarios.compactions",
    "hdfs-encryption": "scenarios.hdfs_encryption",
    "skew": "scenarios.skew",
    "cold": "scenarios.cold",
    "crash": "scenarios.crash",
    "rolling-restart": "scenarios.rolling",
    "compaction": "scenarios.compactions:major_compaction",
    "heal": "scenarios.heal",
    "warm-gate": "scenarios.warm_gate",
    "boost": "scenarios.boost",
    "node-lost": "scenarios.crash:node_lost",
    "dashboards": "scenarios.dashboards",
}
"""Scenarios that load a table of the environment's kind and read it; their modules below `lab.hbase`, each with the
name of its part where the module has several."""

MODULES: Final = {**UNBENCHED, **BENCHED}
SCENARIOS: Final = tuple(MODULES)


class Scenario(Struct, frozen=True):
    """A scenario's title and the question that it answers."""

    title: str
    question: str


def question(name: str) -> Scenario:
    """Return the title and question of a scenario. Raises KeyError for an unknown name."""
    return Scenario(_member(name, "TITLE"), _member(name, "QUESTION"))


def servers_of(name: str) -> int:
    """Return how many RegionServers the scenario needs. Raises KeyError for an unknown name."""
    return int(_member(name, "SERVERS", 1))


def scenarios_of(servers: int) -> tuple[str, ...]:
    """Return the scenarios of a lab with so many RegionServers, in order."""
    return tuple(name for name in SCENARIOS if servers_of(name) == servers)


def benched(name: str) -> Callable[[Experiment], ScenarioResult]:
    """Return the function of a scenario that reads a table. Raises KeyError for an unknown name."""
    run: Callable[[Experiment], ScenarioResult] = _member(name, "run")
    return run


def unbenched(name: str) -> Callable[[Path, Callable[[str], None]], ScenarioResult]:
    """Return the function of a scenario that boots many environments' files below a directory. Raises KeyError."""
    run: Callable[[Path, Callable[[str], None]], ScenarioResult] = _member(name, "run")
    return run


def _member(name: str, member: str, *default: object) -> Any:  # noqa: ANN401 - a title, a number or a function
    """Return a name of a scenario's module: `run` and `TITLE`, or `run_PART` and `PART_TITLE` of one of its parts."""
    module, _, part = MODULES[name].partition(":")
    if part:
        member = f"{member}_{part}" if member.islower() else f"{part.upper()}_{member}"
    return getattr(importlib.import_module(f"lab.hbase.{module}"), member, *default)
