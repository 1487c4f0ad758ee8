"""Every property that the lab or the local AWS sets, changes or leaves out, and the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.bench import COLD, LOADING
from lab.hbase.cluster import Kdc
from lab.hbase.configuration import (
    HDFS_ENCRYPTION,
    Overlay,
    ServerIdentity,
    client_overlay,
    master_overlay,
    server_overlay,
)
from lab.hbase.hdfs import HDFS_ALONE, data_node_properties, name_node_properties
from lab.machine.paths import LabPaths, Ports
from lab.trino.cluster import Catalog
from lab.trino.cluster import server_overlay as trino_overlay
from local_aws.emr.steps import HIDDEN, OF_A_CLUSTER
from warmbase.sizing.modes import MODES

BY_EMR: Final = "EMR must set it on each cluster; a page of the local AWS shows it, and a rendered value would win"
HIDDEN_BY_EMR: Final = "EMR is said to set it; only a cluster with the tag `local-aws:emr-defaults` shows it"
SOMEWHERE: Final = Path("/lab")
PORTS: Final = Ports(
    store=1, endpoint=2, control=3, zookeeper=4, master=5, master_info=6, servers=(7, 8, 9), servers_info=(10, 11, 12)
)


class Difference(Struct, frozen=True, kw_only=True):
    """A property that the lab gives a process in place of what is rendered; one without a value is left out."""

    process: str
    key: str
    value: str | None
    why: str


def differences() -> tuple[Difference, ...]:
    """Return every difference once for each process, in the order of processes and keys."""
    entries = {
        (process, key): Difference(process=process, key=key, value=value, why=why)
        for process, overlay in _overlays()
        for key, (value, why) in overlay.entries.items()
    }
    return tuple(entries[at] for at in sorted(entries))


def _overlays() -> Iterator[tuple[str, Overlay]]:
    place = LabPaths(root=SOMEWHERE, ports=PORTS)
    for mode in MODES.values():
        yield "HBase", client_overlay(place) | master_overlay(place, mode)
        yield "HBase", server_overlay(place, mode, 1, ServerIdentity(number=0, volume=SOMEWHERE))
    yield "HBase before a measurement", COLD | LOADING
    yield "HBase with Kerberos", Kdc(configuration=SOMEWHERE, keytab=SOMEWHERE).overlay
    hdfs = name_node_properties(place, PORTS, ("a", "b")) | data_node_properties(SOMEWHERE, "a", PORTS)
    yield "HDFS", Overlay({key: (value, HDFS_ALONE) for key, value in hdfs.items()})
    yield "HBase and HDFS, encrypted", HDFS_ENCRYPTION
    yield "The local AWS", Overlay({key: (value, BY_EMR) for key, value in OF_A_CLUSTER.items()})
    yield "The local AWS", Overlay({key: (value, HIDDEN_BY_EMR) for key, value in HIDDEN.items()})
    for is_coordinator in (True, False):
        yield (
            "Trino",
            trino_overlay(is_coordinator=is_coordinator, port=1, coordinator_port=1, etc=SOMEWHERE, plugins=SOMEWHERE),
        )
    yield "Trino", Catalog(name="lake", cache_mib=1, preferred_hosts=1).overlay(SOMEWHERE, "http://127.0.0.1")
