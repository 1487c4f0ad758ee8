"""Every way in which a cluster is rendered: where the data and the log lie, who writes, on which release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from configurations.launch import Launch
from configurations.rendering import classifications
from environments.environment import Wal
from environments.question import compared_plans
from environments.reader import read_environment
from facts.releases import releases
from sizing.mode import Mode
from sizing.plan import Plan


@dataclass(frozen=True, slots=True)
class Variant:
    """One of them."""

    mode: Mode
    role: str = "active"
    wal: Wal = Wal.HDFS

    def __str__(self) -> str:
        return f"{self.mode}-{self.role}{'-emr-wal' if self.wal is Wal.EMR_WAL else ''}"


VARIANTS = tuple(
    Variant(mode, role, wal)
    for mode, role, wal in product(Mode, ("active", "replica"), Wal)
    if mode.in_s3 or (role == "active" and wal is Wal.HDFS)
)


@cache
def _plans() -> dict[Mode, Plan]:
    environment = read_environment("prod")
    return compared_plans(environment, environment.active)


@cache
def variant_launch(variant: Variant, label: str = "emr-7.12.0") -> Launch:
    """The environment prod rendered in that way, as it would be for that release."""
    environment = read_environment("prod")
    cluster = replace(environment.active, role=variant.role)
    environment = replace(environment, mode=variant.mode, wal=variant.wal, clusters={cluster.colour: cluster})
    planned = _plans()[variant.mode]
    plan = replace(planned, release=label, heap=replace(planned.heap, collector=releases()[label].collector))
    return Launch(environment=environment, plan=plan, settings=classifications(environment, plan))
