"""The heal of one environment's cluster, and the clusters on which nothing can be healed."""

from __future__ import annotations

from configurations.launch import Launch
from operations.aws import Aws
from operations.cache_heal import Heal
from operations.emr_hdfs import EmrHdfs
from operations.environment_restart import emr_hbase
from operations.heal_journal import S3HealJournal
from operations.locality_heal import LocalityHeal
from sizing.problem import Refused


def refuse_unhealable(launch: Launch) -> None:
    """Refuse a cluster on which regions and blocks cannot be brought together. Raises Refused."""
    plan = launch.plan
    if not plan.mode.keeps_data_in_s3:
        _refuse_kerberos(launch)
    elif not plan.mode.has_bucket_cache:
        raise Refused.of(
            where=f"cluster {plan.cluster} of {plan.environment}",
            what="has no caches that regions could be away from",
            why=f"in mode {plan.mode} a RegionServer has no cache on disk whose index says what it holds",
            fix="to see how its regions are spread, use the master's page",
        )

    if launch.environment.clusters[plan.cluster].role == "replica":
        raise Refused.of(
            where=f"cluster {plan.cluster} of {plan.environment}",
            what="is a read replica, whose regions this command does not move",
            why="EMR's read replicas cannot modify tables, so moved regions would not stay after a restart",
            fix="to move a region there, use HBase's shell on its primary node",
        )


def _refuse_kerberos(launch: Launch) -> None:
    if launch.security.kerberos is not None:
        raise Refused.of(
            where=f"cluster {launch.plan.cluster} of {launch.plan.environment}",
            what="does not let this command move replicas of blocks",
            why="with Kerberos, only the user hdfs may move them, and the steps of warmbase authenticate as hbase",
            fix="to write the blocks of a region to the host of its RegionServer, compact its table: warmbase compact",
        )


def environment_locality_heal(aws: Aws, launch: Launch, cluster_id: str) -> LocalityHeal:
    """Return the heal of the locality of a running cluster whose root is on HDFS."""
    return LocalityHeal(hdfs=EmrHdfs(primary=emr_hbase(aws, launch, cluster_id).primary))


def environment_heal(aws: Aws, launch: Launch, cluster_id: str) -> Heal:
    """Return the heal of a running cluster, with its journal in the log bucket."""
    hbase = emr_hbase(aws, launch, cluster_id)
    journal = S3HealJournal(aws=aws, bucket=hbase.primary.log_bucket, cluster_id=cluster_id)
    return Heal(hbase=hbase, journal=journal)
