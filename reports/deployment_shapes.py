"""Every way in which an environment file can shape the permissions of a deployment, synthesised once each."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec.structs import replace

from configurations.engines.trino.rendering import trino_launch_of
from configurations.launch import launch_of
from environments.environment import Environment, Network, Wal
from environments.kerberos import ExternalKdc, Kerberos
from environments.names import CANARY_TAG
from environments.reader import read_environment
from environments.root import Root
from sizing.cluster import CoreChoice
from sizing.engines.trino.request import QueryTargets, ScanWorkload, TrinoChoice
from sizing.modes import HDFS, S3_PLAIN
from sizing.popularity import UNIFORM
from sizing.units import GIB, TIB

if TYPE_CHECKING:
    from stacks.app import App

NAME: Final = "env"
BACKSTOP: Final = Path(__file__).parents[1] / "operations" / "canary" / "end_clusters.py"
KEY: Final = "arn:aws:kms:us-east-1:111122223333:key/KEY"
CERTIFICATES: Final = "s3://our-keys/hbase.zip"
REALM: Final = Kerberos(
    realm="EXAMPLE.COM",
    admin_password="{{resolve:secretsmanager:kdc}}",  # noqa: S106 - a reference, no password
    external=ExternalKdc(kdc="kdc.example.com", admin_server="kdc.example.com"),
)
LAKE: Final = TrinoChoice(
    name="lake",
    workload=ScanWorkload(
        working_set_bytes=TIB,
        scanned_bytes=10 * GIB,
        queries_per_second=0.01,
        peak_queries_per_second=0.01,
        popularity=UNIFORM,
        file_format="parquet",
    ),
    targets=QueryTargets(hit_ratio=0.9, query_seconds=None, lost_nodes=1, budget_usd_per_month=None),
    workers=CoreChoice(type=None, count=None, volumes=None, families=("i8g",)),
    coordinator_type=None,
    catalog="hive",
    preferred_hosts=1,
    data=("s3://our-lake/tables/",),
)
Templates: TypeAlias = Mapping[str, Mapping[str, Any]]


def _everything(base: Environment) -> Environment:
    """Return an environment with all that a new network and a new root can have, such as three primaries and TLS."""
    blue = replace(base.active, primaries=3)
    clusters = {"blue": blue, "green": replace(base.active, name="green", role="replica")}
    return replace(base, clusters=clusters, wal=Wal.EMR_WAL, certificates=CERTIFICATES, kerberos=REALM)


def _existing(base: Environment) -> Environment:
    """Return an environment in an existing VPC and over an existing root, with the key of that root."""
    network = Network(
        availability_zone=base.network.availability_zone,
        vpc="vpc-0123456789abcdef0",
        subnet="subnet-0123456789abcdef0",
        route_table="rtb-0123456789abcdef0",
    )
    root = Root(bucket="our-data", prefix="hbase", existing=True, key=KEY, owner="111122223333")
    green = replace(base.active, name="green", role="replica")
    return replace(base, network=network, root=root, clusters={**base.clusters, "green": green})


SHAPES: Final[Mapping[str, Callable[[Environment], Environment]]] = {
    "new root": _everything,
    "existing root": _existing,
    "s3-plain": lambda base: replace(base, mode=S3_PLAIN),
    "hdfs": lambda base: replace(base, mode=HDFS),
    "canary": lambda base: replace(base, tags={**base.tags, CANARY_TAG: base.name}),
    "analytics": lambda base: replace(base, release="emr-7.12.0", analytics={LAKE.name: LAKE}),
}
"""The shapes by name; together they have every statement that a policy of warmbase can contain."""


def shape_app(shape: str, directory: str) -> App:
    """Return the app of a shape, not yet synthesised: the stacks of all its clusters."""
    from stacks.app import new_app  # noqa: PLC0415 - aws_cdk is loaded only by what synthesises
    from stacks.backstop import BackstopStack  # noqa: PLC0415 - see above
    from stacks.cluster import ClusterStack  # noqa: PLC0415 - see above
    from stacks.engines.trino.cluster import TrinoClusterStack  # noqa: PLC0415 - see above
    from stacks.engines.trino.monitoring import watched_trino  # noqa: PLC0415 - see above
    from stacks.monitoring import MonitoringStack, watched_hbase  # noqa: PLC0415 - see above
    from stacks.network import NetworkStack  # noqa: PLC0415 - see above
    from stacks.storage import StorageStack  # noqa: PLC0415 - see above

    dev = read_environment("dev")
    base = replace(dev, name=NAME, root=replace(dev.root, bucket=dev.root.bucket.replace(dev.name, NAME)))
    environment = SHAPES[shape](base)
    app = new_app(directory)
    network, storage = NetworkStack(app, environment), StorageStack(app, environment)
    if CANARY_TAG in environment.tags:
        BackstopStack(app, environment, BACKSTOP.read_text(encoding="utf-8"))
    for cluster in environment.clusters.values():
        launch = launch_of(environment, cluster)
        MonitoringStack(app, environment, watched_hbase(launch), ClusterStack(app, launch, network, storage))
    for analytics in environment.analytics.values():
        trino = trino_launch_of(environment, analytics)
        stack = TrinoClusterStack(app, trino, network, storage)
        MonitoringStack(app, environment, watched_trino(trino), stack)
    return app


@cache
def shape_templates(shape: str) -> Templates:
    """Return the templates of a shape by stack name."""
    from stacks.pinned import read_templates  # noqa: PLC0415 - see above

    with tempfile.TemporaryDirectory(prefix="warmbase-shape-") as directory:
        templates: Templates = json.loads(
            json.dumps(read_templates(Path(shape_app(shape, directory).synth().directory)))
        )
        return templates
