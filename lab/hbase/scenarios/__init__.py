"""The experiments of the lab, each runnable by itself."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

from msgspec import Struct

from lab.hbase.experiment import Experiment, ScenarioResult

UNBENCHED: Final[Mapping[str, str]] = {"boots": "boots.rendered", "refused": "boots.refusals"}
"""Scenarios that boot files of many environments, each in a lab of its own; their modules below `lab.hbase`."""

# Scenarios that read the environment's own table come before those that fill another. Among them, those that change the
# table come late, and those that move regions come last: HBase keeps waiting for the server they were moved from.
BENCHED: Final[Mapping[str, str]] = {
    "cache-vs-none": "scenarios.cache_vs_none",
    "warm-up": "scenarios.warm_up",
    "restart": "scenarios.restart",
    "kill-while-filling": "scenarios.killed_while_filling",
    "multiget": "scenarios.multi_get",
    "volume-bound": "scenarios.volume_bound",
    "model": "scenarios.model",
    "ycsb": "scenarios.mixes",
    "two-servers": "scenarios.two_servers",
    "oversubscribed": "scenarios.oversubscribed",
    "compressed": "scenarios.compressed",
    "index": "scenarios.index",
    "tables": "scenarios.tables",
    "writes": "scenarios.writes",
    "compactions": "scenarios.compactions",
    "hdfs-encryption": "scenarios.hdfs_encryption",
    "skew": "scenarios.skew",
    "cold": "scenarios.cold",
    "crash": "scenarios.crash",
    "rolling-restart": "scenarios.rolling",
    "compaction": "scenarios.compaction",
    "heal": "scenarios.heal",
    "warm-gate": "scenarios.warm_gate",
    "boost": "scenarios.boost",
    "node-lost": "scenarios.node_lost",
    "dashboards": "scenarios.dashboards",
}
"""Scenarios that load a table of the environment's kind and read it; their modules below `lab.hbase`."""

MODULES: Final = {**UNBENCHED, **BENCHED}
SCENARIOS: Final = tuple(MODULES)


class Scenario(Struct, frozen=True):
    """A scenario's title and the question that it answers."""

    title: str
    question: str


def question(name: str) -> Scenario:
    """Return the title and question of a scenario. Raises KeyError for an unknown name."""
    module = _module(name)
    return Scenario(module.TITLE, module.QUESTION)


def servers_of(name: str) -> int:
    """Return how many RegionServers the scenario needs. Raises KeyError for an unknown name."""
    return int(getattr(_module(name), "SERVERS", 1))


def scenarios_of(servers: int) -> tuple[str, ...]:
    """Return the scenarios of a lab with so many RegionServers, in order."""
    return tuple(name for name in SCENARIOS if servers_of(name) == servers)


def benched(name: str) -> Callable[[Experiment], ScenarioResult]:
    """Return the function of a scenario that reads a table. Raises KeyError for an unknown name."""
    run: Callable[[Experiment], ScenarioResult] = _module(name).run
    return run


def unbenched(name: str) -> Callable[[Path, Callable[[str], None]], ScenarioResult]:
    """Return the function of a scenario that boots many environments' files below a directory. Raises KeyError."""
    run: Callable[[Path, Callable[[str], None]], ScenarioResult] = _module(name).run
    return run


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"lab.hbase.{MODULES[name]}")
