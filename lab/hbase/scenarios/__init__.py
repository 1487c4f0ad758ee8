"""The experiments of the lab, each runnable by itself."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.hbase.experiment import Experiment, ScenarioResult

__all__ = ["BENCHED", "SCENARIOS", "UNBENCHED", "Scenario", "benched", "question", "unbenched"]

UNBENCHED: Final[Mapping[str, str]] = {"boots": "boots", "refused": "refused"}
"""Those that boot files of many environments, in labs of their own."""

# Those of the environment's own table come before those that fill another; what changes it comes last of them, and
# after that what moves regions: HBase goes on to wait for the server that they were moved back from.
BENCHED: Final[Mapping[str, str]] = {
    "cache-vs-none": "cache_vs_none",
    "warm-up": "warm_up",
    "restart": "restart",
    "kill-while-filling": "killed_while_filling",
    "multiget": "multi_get",
    "volume-bound": "volume_bound",
    "model": "model",
    "ycsb": "mixes",
    "two-servers": "two_servers",
    "oversubscribed": "oversubscribed",
    "compressed": "compressed",
    "index": "index",
}
"""Those that load a table of the environment's kind and read it; the module of each by its name."""

MODULES: Final = {**UNBENCHED, **BENCHED}
SCENARIOS: Final = tuple(MODULES)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a scenario asks."""

    title: str
    question: str


def question(name: str) -> Scenario:
    """Of the scenario of that name. Raises KeyError where there is none."""
    module = importlib.import_module(f"lab.hbase.scenarios.{MODULES[name]}")
    return Scenario(module.TITLE, module.QUESTION)


def benched(name: str) -> Callable[[Experiment], ScenarioResult]:
    """A scenario that reads a table. Raises KeyError where there is none."""
    run: Callable[[Experiment], ScenarioResult] = importlib.import_module(f"lab.hbase.scenarios.{BENCHED[name]}").run
    return run


def unbenched(name: str) -> Callable[[Path, Callable[[str], None]], ScenarioResult]:
    """A scenario that boots files of many environments below a directory. Raises KeyError where there is none."""
    run: Callable[[Path, Callable[[str], None]], ScenarioResult] = importlib.import_module(
        f"lab.hbase.scenarios.{UNBENCHED[name]}"
    ).run
    return run
