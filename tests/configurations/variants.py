"""Every way in which a cluster is rendered: where the data and the log lie, who writes, on which release."""

from __future__ import annotations

from functools import cache
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from warmbase.configurations.launch import Launch, classifications, launch_of
from warmbase.environments.environment import Kerberos, Wal
from warmbase.environments.planning import plans_by_mode
from warmbase.environments.reader import read_environment
from warmbase.ground.units import TIB
from warmbase.sizing.modes import MODES, Mode
from warmbase.sizing.plan import Plan


class Variant(Struct, frozen=True):
    """A storage mode, a role and a place of the write-ahead log, for which a cluster is planned and rendered."""

    mode: Mode
    role: str = "active"
    wal: Wal = Wal.HDFS

    def __str__(self) -> str:
        return f"{self.mode}-{self.role}{'-emr-wal' if self.wal is Wal.EMR_WAL else ''}"


VARIANTS = tuple(
    Variant(mode, role, wal)
    for mode, role, wal in product(MODES.values(), ("active", "replica"), Wal)
    if mode.keeps_data_in_s3 or (role == "active" and wal is Wal.HDFS)
)


@cache
def _plans(label: str, primaries: int) -> dict[Mode, Plan]:
    """Return what would be bought on that release in each mode."""
    environment = replace(read_environment("prod"), release=label)
    return plans_by_mode(environment, replace(environment.active, primaries=primaries))


@cache
def variant_launch(variant: Variant, label: str = "emr-7.12.0", primaries: int = 3) -> Launch:
    """Return the environment prod planned and rendered in that way, for that release."""
    environment = read_environment("prod")
    cluster = replace(environment.active, role=variant.role, primaries=primaries)
    environment = replace(
        environment, release=label, mode=variant.mode, wal=variant.wal, clusters={cluster.name: cluster}
    )
    plan = _plans(label, primaries)[variant.mode]
    return Launch(environment=environment, plan=plan, settings=classifications(environment, plan))


@cache
def small_cache_launch() -> Launch:
    """Return the launch of the published cluster over more data than its caches hold."""
    published = read_environment("published-emr")
    environment = replace(published, workload=replace(published.workload, stored_bytes=20 * TIB, regions=800))
    return launch_of(environment, environment.active)


@cache
def kerberos_launch() -> Launch:
    """Return the environment dev in a Kerberos realm."""
    kerberos = Kerberos(realm="EC2.INTERNAL", admin_password="{{resolve:secretsmanager:hbase/kdc}}")
    environment = replace(read_environment("dev"), kerberos=kerberos)
    return launch_of(environment, environment.active)
