"""Checks of a launched cluster: its groups, security, volumes and claim, and that nobody has edited them since."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from environments.names import cluster_stack
from operations.claims import FORGOTTEN, claim_of
from operations.pinning import check_pinned
from operations.stack_drift import stack_edits
from operations.verification.check import Check, CheckResult, Facts, Observed
from sizing.problem import Drifted, OperationFailed

__all__ = ["OF_LAUNCH"]

READY: Final = frozenset({"RUNNING", "WAITING"})
OLD_RANGE_GIB: Final = 1024
"""The largest volume that EMR's pages once named."""
FIXED_HEAP: Final = "hbase.regionserver.fixed.heap.enabled"


def _launch_is_as_pinned(seen: Observed) -> Iterator[CheckResult]:
    row = "EMR describes a cluster's applications, volumes"
    expected = "EMR describes what the stacks launched"
    try:
        done = check_pinned(seen.aws, seen.launch.environment, seen.launch.plan.cluster)
    except Drifted as drifted:
        yield Check("launch", row, expected, "warmbase diff --against live").result(
            "; ".join(drifted.differences[:3]), good=False
        )
        return
    yield Check("launch", row, expected, "nothing").result(f"{done.confirmed} facts confirmed", good=True)


def _nodes_answer(seen: Observed) -> Iterator[CheckResult]:
    silent = [instance for instance, facts in seen.nodes.items() if facts is None]
    yield Check(
        "Systems Manager",
        "",
        f"{len(seen.nodes)} core nodes answer",
        "check that the agent runs, and that the subnet has a route to ssm and ssmmessages",
    ).result(f"no answer of {', '.join(silent)}" if silent else "all answer", good=not silent and bool(seen.nodes))


def _protection_stays(seen: Observed) -> Iterator[CheckResult]:
    """Check that termination protection outlasts an update; only a stack that was updated shows it."""
    cluster = seen.aws.emr.describe_cluster(ClusterId=seen.cluster.id)["Cluster"]
    name = cluster_stack(seen.launch.plan.environment, seen.launch.plan.cluster)
    [stack] = seen.aws.cloudformation.describe_stacks(StackName=name)["Stacks"]
    launched = cluster["Status"]["Timeline"]["CreationDateTime"]
    updated = stack.get("LastUpdatedTime", stack["CreationTime"]) > launched
    protected = cluster["TerminationProtected"]
    yield Check(
        "termination protection",
        "An update of the cluster's stack that does not state" if updated else "",
        "the cluster is protected",
        "warmbase pin, which asks for it again; tell us after which update it was gone",
    ).result("it is" if protected else "it is not", good=protected)


def _settings_are_applied(seen: Observed) -> Iterator[CheckResult]:
    """Versions of each group's settings, and what may be set for a group alone."""
    groups: Any = seen.aws.emr.list_instance_groups(ClusterId=seen.cluster.id)["InstanceGroups"]
    versions = {
        group["Id"]: (group.get("ConfigurationsVersion"), group.get("LastSuccessfullyAppliedConfigurationsVersion"))
        for group in groups
    }
    reconfigured = {name: pair for name, pair in versions.items() if pair[0]}
    yield Check(
        "versions of settings",
        "`ConfigurationsVersion` of an instance group moves",
        "the version that was asked for is the one that is applied",
        "wait for a reconfiguration that is under way; else correct operations/reconfiguration.py",
    ).result(
        "; ".join(f"{name} {asked}, applied {applied}" for name, (asked, applied) in versions.items()),
        good=all(asked == applied for asked, applied in reconfigured.values()) if reconfigured else None,
    )
    if any(FIXED_HEAP in each.properties for each in seen.launch.settings.core):
        has = any(FIXED_HEAP in setting.properties for setting in seen.cluster.groups["core"].settings)
        yield Check(
            "a heap of its own for the core group",
            "`hbase.regionserver.fixed.heap.enabled` may be set",
            f"EMR lists {FIXED_HEAP} for the core group of a cluster that runs",
            "set it for the cluster",
        ).result(f"{'listed' if has else 'not listed'}; {seen.cluster.state}", good=has and _runs(seen))


def _runs(seen: Observed) -> bool:
    return seen.cluster.state in READY


def _security_is_understood(seen: Observed) -> Iterator[CheckResult]:
    """Yield what was asked of EMR in the document of a security configuration, on its nodes."""
    if not seen.instances:
        return
    pages: Any = seen.aws.ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "instance-id", "Values": seen.instances}]
    )
    nodes = [instance for page in pages for reserved in page["Reservations"] for instance in reserved["Instances"]]
    lax = [node["InstanceId"] for node in nodes if node.get("MetadataOptions", {}).get("HttpTokens") != "required"]
    # Of a cluster that does not encrypt its disks one of the two names was never said to EMR.
    both = seen.launch.environment.encrypt_local_disks
    yield Check(
        "credentials of nodes",
        "`EnableEbsEncryption` and `InstanceMetadataServiceConfiguration` are spelled so" if both else "",
        "each node gives its credentials to IMDSv2 alone",
        "correct the name in stacks/cluster.py; it is settled at launch",
    ).result(f"{len(nodes)} nodes, {len(lax)} of them to IMDSv1 too", good=not lax and bool(nodes))
    if seen.launch.environment.certificates is not None:
        yield Check(
            "encryption in transit",
            "EMR unpacks a zip of PEM files",
            "the cluster runs",
            "read the cluster's reason in EMR's console",
        ).result(seen.cluster.state, good=_runs(seen))


def _network_suffices(seen: Observed) -> Iterator[CheckResult]:
    if seen.launch.environment.network.subnet is None:
        yield Check(
            "a subnet without a way out",
            "Five interface endpoints and the S3 gateway endpoint",
            "the cluster runs",
            "look in EMR's console which service its nodes did not reach; add its endpoint in stacks/network.py",
        ).result(seen.cluster.state, good=_runs(seen))


def _accepts_large_volumes(seen: Observed) -> Iterator[CheckResult]:
    largest = max(volume.size_gib for volume in seen.launch.plan.core.volumes)
    if largest > OLD_RANGE_GIB:
        yield Check(
            "large volumes",
            "EMR accepts cache volumes above 1,024 GiB",
            f"a cluster with volumes of {largest:,} GiB runs",
            "take more and smaller volumes",
        ).result(seen.cluster.state, good=_runs(seen))


def _volumes_are_encrypted(seen: Observed) -> Iterator[CheckResult]:
    if not seen.launch.environment.encrypt_local_disks or not seen.instances:
        return
    pages: Any = seen.aws.ec2.get_paginator("describe_volumes").paginate(
        Filters=[{"Name": "attachment.instance-id", "Values": seen.instances}]
    )
    volumes = [volume for page in pages for volume in page["Volumes"]]
    plain = [volume["VolumeId"] for volume in volumes if not volume["Encrypted"]]
    yield Check(
        "encryption of volumes",
        "With `EnableEbsEncryption`, EBS itself encrypts the volumes",
        "every volume of a core node is encrypted",
        "launch a cluster anew: encryption is settled at launch",
    ).result(f"{len(volumes)} volumes, {len(plain)} of them not", good=not plain and bool(volumes))
    yield from Check(
        "mappers of volumes",
        "With `EnableEbsEncryption`, EBS itself encrypts the volumes",
        "no volume carries a LUKS mapper",
        "nothing breaks: the bootstrap action takes either; correct what bootstrap-actions/disks.sh says of it",
    ).results_by_node(seen.nodes, _no_mapper)


def _no_mapper(facts: Facts) -> tuple[bool, str]:
    devices = facts["devices"]
    if devices is None:
        return False, "lsblk does not say"
    mappers = [device["name"] for device in devices if device["type"] == "crypt"]
    return not mappers, ", ".join(mappers) or "none"


def _nothing_was_edited(seen: Observed) -> Iterator[CheckResult]:
    plan = seen.launch.plan
    question = Check(
        "edits since the deployment",
        "CloudFormation's drift detection looks at security groups",
        "CloudFormation finds no resource edited",
        "where nobody edited it, correct operations/stack_drift.py; else warmbase deploy",
    )
    try:
        found = tuple(stack_edits(seen.aws, plan.environment, plan.cluster))
    except OperationFailed as failed:
        yield question.result(failed.summary, good=None)
        return
    differences = [line for each in found for line in each.differences]
    resources = sum(each.facts for each in found)
    said = "; ".join(differences[:3]) or f"{resources} resources of {len(found)} stacks as deployed"
    yield question.result(said, good=not differences and resources > 0)


def _distinguishes_unknown_clusters(seen: Observed) -> Iterator[CheckResult]:
    """By whether EMR knows a cluster a claim is judged."""
    yield Check(
        "an id that EMR has forgotten",
        "EMR answers `DescribeCluster` for an id that it has forgotten",
        " and ".join(FORGOTTEN),
        "correct FORGOTTEN in operations/claims.py, and the same in bootstrap-actions/programs/claim_root.py",
    ).result_of_primary(
        seen.primary,
        lambda facts: (all(each in facts["forgotten"] for each in FORGOTTEN), facts["forgotten"].strip()[:200]),
    )


def _the_master_has_no_cache(seen: Observed) -> Iterator[CheckResult]:
    if not seen.launch.plan.mode.has_bucket_cache:
        return

    def found(facts: Facts) -> tuple[bool | None, str]:
        lines = facts["master_caches"]
        return (None, "no log to be read") if lines is None else (lines == 0, f"{lines} lines of a BucketCache")

    yield Check(
        "the master",
        "The master ignores `hbase.bucketcache.persistent.path`",
        "the master's log shows no BucketCache",
        "look at the master's log; set the cache for the core group alone",
    ).result_of_primary(seen.primary, found)


def _claim_is_ours(seen: Observed) -> Iterator[CheckResult]:
    environment = seen.launch.environment
    if not environment.mode.keeps_data_in_s3 or environment.clusters[seen.launch.plan.cluster].role != "active":
        return
    claim = claim_of(seen.aws, environment.root)
    holder = claim.cluster if claim else "nobody"
    yield Check("claim of the root", "", seen.cluster.id, "warmbase claim").result(
        holder, good=holder == seen.cluster.id
    )


OF_LAUNCH = (
    _launch_is_as_pinned,
    _nodes_answer,
    _protection_stays,
    _settings_are_applied,
    _security_is_understood,
    _network_suffices,
    _accepts_large_volumes,
    _volumes_are_encrypted,
    _nothing_was_edited,
    _claim_is_ours,
    _distinguishes_unknown_clusters,
    _the_master_has_no_cache,
)
"""Every check, in the order of the report."""
