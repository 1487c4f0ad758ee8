"""The stack of one analytics cluster: Trino on EMR, its two roles, and what the monitoring stack watches of it.

It neither reads nor writes the HBase root. Its roles are those of any cluster without the root, and allow what Trino
reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from constructs import Construct
from msgspec.structs import replace

from warmbase.engines.trino.boards import trino_alarms, trino_composite_alarms, trino_dashboards
from warmbase.engines.trino.rendering import APPLICATIONS, TrinoLaunch, actions, trino_spec
from warmbase.environments.environment import Environment, Wal
from warmbase.environments.launch_record import LaunchRecord
from warmbase.sizing.modes import HDFS
from warmbase.stacks.emr_cluster import EmrClusterStack, EngineProperties
from warmbase.stacks.monitoring import Watched
from warmbase.stacks.nag_suppressions import suppress, suppress_objects
from warmbase.stacks.network import NetworkStack
from warmbase.stacks.roles import Roles, RootAccess, allow, bucket_arn, deny, in_account, regional_arn, resources_arn
from warmbase.stacks.storage import StorageStack


class TrinoClusterStack(EmrClusterStack):
    """One EMR cluster with Trino."""

    def __init__(
        self,
        scope: Construct,
        launch: TrinoLaunch,
        network: NetworkStack,
        storage: StorageStack,
        record: LaunchRecord | None = None,
    ) -> None:
        """Define the cluster from the plan or, once it is launched, from its record alone."""
        super().__init__(scope, launch, record)
        data = launch.environment.analytics[launch.plan.cluster].data
        roles = TrinoRoles(self, self._granted, storage, self._role_name, data)
        properties = EngineProperties(
            groups=trino_spec(launch).groups, applications=APPLICATIONS, actions=actions(launch)
        )
        self.cluster = self._create(roles, network, storage, properties)


# AWS Glue Developer Guide, actions of the Data Catalog: what a query engine reads of databases, tables and partitions.
CATALOG_ACTIONS: Final = (
    "glue:BatchGetPartition",
    "glue:GetDatabase",
    "glue:GetDatabases",
    "glue:GetPartition",
    "glue:GetPartitions",
    "glue:GetTable",
    "glue:GetTables",
)
GLUE_RESOURCES: Final = ("database", "table")


class TrinoRoles(Roles):
    """`service` for EMR, and `nodes`, which read tables and nothing of the HBase root."""

    def __init__(
        self, scope: Construct, environment: Environment, storage: StorageStack, name: str, data: Sequence[str]
    ) -> None:
        # Without data in S3 and without a log of its own, a node has no access to the root, its key or the log.
        rootless = replace(environment, mode=HDFS, wal=Wal.HDFS)
        super().__init__(scope, rootless, storage, name, RootAccess.REPLICA)
        prefixes = [url.removeprefix("s3://") for url in data]
        owned = in_account(self.nodes)
        objects = (bucket_arn(f"{prefix}*") for prefix in prefixes)
        allow(self.nodes, "Tables", ["s3:GetObject"], *objects, conditions=owned)
        buckets = sorted({prefix.partition("/")[0] for prefix in prefixes})
        allow(self.nodes, "TableBuckets", ["s3:GetBucketLocation"], *map(bucket_arn, buckets), conditions=owned)
        below = {"StringLike": {"s3:prefix": sorted(f"{prefix.partition('/')[2]}*" for prefix in prefixes)}}
        allow(self.nodes, "TableLists", ["s3:ListBucket"], *map(bucket_arn, buckets), conditions={**owned, **below})
        # Also where somebody names a prefix of the root under another name: a denial wins over what allows it.
        root = [f"{environment.root.bucket}/{key}" for key in environment.root.objects]
        deny(self.nodes, "Root", ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"], *map(bucket_arn, root))
        suppress_objects(self.nodes, *(pattern for pattern in root if pattern.endswith("*")))
        suppress_objects(self.nodes, *(f"{prefix}*" for prefix in prefixes))
        catalog = [regional_arn("glue", "catalog"), *(resources_arn("glue", kind) for kind in GLUE_RESOURCES)]
        allow(self.nodes, "Catalog", CATALOG_ACTIONS, *catalog)
        suppress(
            self.nodes,
            *(
                f"IAM5[Resource::arn:<AWS::Partition>:glue:<AWS::Region>:<AWS::AccountId>:{kind}/*]"
                for kind in GLUE_RESOURCES
            ),
        )


def cluster_stack(
    scope: Construct,
    launch: TrinoLaunch,
    network: NetworkStack,
    storage: StorageStack,
    record: LaunchRecord | None = None,
) -> TrinoClusterStack:
    """Return the stack of a cluster."""
    return TrinoClusterStack(scope, launch, network, storage, record)


def watched(launch: TrinoLaunch) -> Watched:
    """Return what is watched of an analytics cluster."""
    plan = launch.plan
    return Watched(
        cluster=plan.cluster,
        dashboards=trino_dashboards(plan, launch.environment.region),
        alarms=trino_alarms(plan),
        calls=trino_composite_alarms(plan),
    )
