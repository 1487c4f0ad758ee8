"""The calculator's question: what must be served, and what the world offers to serve it with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from functools import cached_property

from msgspec import Struct

from sizing.cluster import ClusterChoice
from sizing.instance import InstanceType
from sizing.memoized import memoized
from sizing.modes import Mode
from sizing.pins import NO_PINS, Pins
from sizing.prices import PriceTable
from sizing.release import Improvement, Release
from sizing.targets import Targets
from sizing.workload import Workload

__all__ = ["Requirements", "World"]


class Requirements(Struct, frozen=True, kw_only=True):
    """One cluster of one environment, as asked for. `root` is `hbase.rootdir`."""

    environment: str
    root: str
    mode: Mode
    workload: Workload
    targets: Targets
    cluster: ClusterChoice
    new_network: bool = True
    """True where warmbase creates the interface endpoints of the network, which cost money."""
    wal_service: bool = False
    """True if the EMR WAL service keeps the write-ahead log, instead of the cluster's own HDFS."""
    encrypts_hdfs: bool = False
    """True if HDFS encrypts what it transfers, as EMR makes it do with local-disk encryption."""
    pins: Pins = NO_PINS
    snapshot_mappers: int | None = None
    """Mappers that copy a snapshot at the same time; None for one on each core node."""


class World(Struct, frozen=True, kw_only=True, dict=True):
    """The instance types and prices there are, and the release that will run on them.

    `improvements` are those of newer releases. `today` is None if the result must not depend on the day.
    """

    instance_types: Mapping[str, InstanceType]
    prices: PriceTable
    release: Release
    improvements: tuple[Improvement, ...] = ()
    today: date | None = None

    @cached_property
    def offered(self) -> tuple[InstanceType, ...]:
        """Types that the release lists and that have a price."""
        return tuple(
            instance_type
            for name, instance_type in self.instance_types.items()
            if instance_type.offered_by(self.release.emr) and name in self.prices.compute
        )

    @cached_property
    def offered_in(self) -> Callable[[tuple[str, ...]], tuple[InstanceType, ...]]:
        """Return a function of families: the types that are offered in them."""
        return memoized(lambda families: tuple(one for one in self.offered if one.family in families))
