"""A second RegionServer, read in the same seconds as the first, so that what else a machine does concerns both.

Throughput of one server before and after a change also tells how busy the machine was each time. Divided by the
throughput of a server that nothing changed, it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from lab.hbase.admin import TableSpec
from lab.hbase.bench import Window
from lab.hbase.cluster import LabServer
from lab.hbase.experiment import Experiment, family_of
from lab.hbase.store.settings import Settings
from lab.hbase.ycsb import YcsbLoad, YcsbTable

SERVER: Final = LabServer(number=1, heap_mib=512)
ROWS_FRACTION: Final = 1 / 8
REGIONS: Final = 4
WARMING_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class ControlledWindow:
    """A window of reads, and the operations a second that the control served meanwhile."""

    window: Window
    control_per_second: float

    @property
    def ratio(self) -> float:
        """Return the window's throughput over the control's."""
        return self.window.measured.operations_per_second / self.control_per_second


@dataclass(frozen=True, slots=True)
class Control:
    """The second RegionServer's table, and the lab whose first RegionServer it is compared with."""

    lab: Experiment
    table: YcsbTable

    def measure(self, load: YcsbLoad) -> ControlledWindow:
        """Run the load on the lab's table and on the control's at once."""
        ycsb = self.lab.bench.ycsb
        clients = ycsb.start(self.table, load, "ycsb-control")
        try:
            window = self.lab.bench.measure(self.lab.table, load)
            return ControlledWindow(window, ycsb.finish(clients, load).operations_per_second)
        finally:
            if clients.is_alive:
                clients.kill()


@contextmanager
def controlled(lab: Experiment) -> Iterator[Control]:
    """Start the second RegionServer with a small table of its own within the block. The balancer is off meanwhile."""
    bench, cluster = lab.bench, lab.bench.cluster
    table = replace(lab.table, name="control", rows=round(lab.table.rows * ROWS_FRACTION))
    was_on = bench.admin.switch_balancer(on=False)
    cluster.clear_cache(SERVER.number)
    cluster.start_server(SERVER)
    try:
        bench.store.set(Settings())
        family = family_of(table, lab.miniature)
        bench.admin.create(TableSpec(name=table.name, families=(family,), regions=REGIONS))
        own = next(name for name in bench.admin.servers() if cluster.number_of(name) == SERVER.number)
        for region, server in bench.admin.regions(table.name).items():
            if server != own:
                bench.admin.move(region, own)
        bench.ycsb.fill(table)
        bench.admin.flush(table.name)
        bench.ycsb.run(table, lab.quick(WARMING_SECONDS))
        yield Control(lab, table)
        bench.admin.drop(table.name)
    finally:
        cluster.stop_server(SERVER.number)
        del cluster.running[SERVER.name]
        bench.admin.switch_balancer(on=was_on)
