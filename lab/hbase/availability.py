"""The times at which each region of a table answers, from one read per region and interval by the admin process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from msgspec import Struct, field

from lab.hbase.admin import Admin
from lab.hbase.result import Outage

INTERVAL_SECONDS: Final = 0.5


class Probes(Struct, kw_only=True):
    """The probing of one table, which knows its outages and its length once it has ended."""

    case: str
    outages: tuple[Outage, ...] = ()
    regions: Mapping[str, int] = field(default_factory=dict)
    """The server's number of each region when probing began."""
    seconds: float = 0.0

    def of_server(self, number: int) -> tuple[Outage, ...]:
        """Return the outages of the regions that were on this RegionServer."""
        return tuple(outage for outage in self.outages if outage.server == number)


@contextmanager
def probed(admin: Admin, table: str, case: str, ports: Iterable[int]) -> Iterator[Probes]:
    """Probe every region of the table within the block; `ports` are those of the RegionServers, by number."""
    probes, numbers = Probes(case=case), {str(port): number for number, port in enumerate(ports)}
    admin.probe(table, INTERVAL_SECONDS)
    try:
        yield probes
    finally:
        answer = admin.probed()
        probes.seconds = float(answer["seconds"])
        probes.regions = {region["region"]: _number(region, numbers) for region in answer["regions"]}
        probes.outages = tuple(
            Outage(
                case=case,
                region=region["region"],
                server=probes.regions[region["region"]],
                begin_seconds=begin,
                seconds=None if end is None else end - begin,
            )
            for region in answer["regions"]
            for begin, end in region["outages"]
        )


def offline_regions(outages: Iterable[Outage], until_seconds: float) -> tuple[tuple[float, float], ...]:
    """Return the number of regions that do not answer, over time, with a point before and after each change."""
    changes: list[tuple[float, int]] = []
    for outage in outages:
        changes.append((outage.begin_seconds, 1))
        if outage.seconds is not None:
            changes.append((outage.begin_seconds + outage.seconds, -1))
    points, offline = [(0.0, 0.0)], 0
    for at, change in sorted(changes):
        points.append((at, float(offline)))
        offline += change
        points.append((at, float(offline)))
    return (*points, (until_seconds, float(offline)))


def _number(region: Mapping[str, Any], numbers: Mapping[str, int]) -> int:
    """Return the number of the server `host,port,start` that has the region."""
    return numbers[region["server"].split(",")[1]]
