"""Checks of the cluster's groups, security, volumes and claim, and of edits since the deployment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from environments.names import cluster_stack
from operations.claims import claim_of
from operations.environment_cluster import FORGOTTEN
from operations.pinning import check_pinned
from operations.stack_drift import stack_edits
from operations.verification.check import Check, CheckResult, Facts, VerificationContext
from sizing.problem import Drifted, OperationFailed

READY: Final = frozenset({"RUNNING", "WAITING"})
OLD_RANGE_GIB: Final = 1024
"""The largest volume that EMR's pages once named."""
FIXED_HEAP: Final = "hbase.regionserver.fixed.heap.enabled"


def _launch_is_as_pinned(context: VerificationContext) -> Iterator[CheckResult]:
    row = "EMR describes a cluster's applications, volumes"
    expected = "EMR describes the cluster as the stacks launched it"
    try:
        launch = check_pinned(context.aws, context.launch.environment, context.launch.plan.cluster)
    except Drifted as drifted:
        yield Check("launch", row, expected, "warmbase diff --against live").result(
            "; ".join(drifted.differences[:3]), good=False
        )
        return
    yield Check("launch", row, expected, "nothing").result(f"{launch.confirmed} facts confirmed", good=True)


def _nodes_answer(context: VerificationContext) -> Iterator[CheckResult]:
    silent = [instance for instance, facts in context.nodes.items() if facts is None]
    yield Check(
        "Systems Manager",
        "A node needs only `ssm:UpdateInstanceInformation`",
        f"{len(context.nodes)} core nodes answer",
        "check that the SSM Agent runs, and that the subnet has a route to ssm and ssmmessages",
    ).result(f"no answer from {', '.join(silent)}" if silent else "all answer", good=not silent and bool(context.nodes))


def _protection_stays(context: VerificationContext) -> Iterator[CheckResult]:
    """Check that termination protection outlasts an update, which only a stack that was updated can show."""
    cluster = context.aws.emr.describe_cluster(ClusterId=context.cluster.id)["Cluster"]
    name = cluster_stack(context.launch.plan.environment, context.launch.plan.cluster)
    [stack] = context.aws.cloudformation.describe_stacks(StackName=name)["Stacks"]
    created = cluster["Status"]["Timeline"]["CreationDateTime"]
    updated = stack.get("LastUpdatedTime", stack["CreationTime"]) > created
    protected = cluster["TerminationProtected"]
    yield Check(
        "termination protection",
        "An update of the cluster's stack that does not state" if updated else "",
        "termination protection is on",
        "run warmbase pin, which turns it on again; tell us which update turned it off",
    ).result("on" if protected else "off", good=protected)


def _settings_are_applied(context: VerificationContext) -> Iterator[CheckResult]:
    """Check the version of each group's settings, and a property that is set for one group."""
    groups: Any = context.aws.emr.list_instance_groups(ClusterId=context.cluster.id)["InstanceGroups"]
    versions = {
        group["Id"]: (group.get("ConfigurationsVersion"), group.get("LastSuccessfullyAppliedConfigurationsVersion"))
        for group in groups
    }
    reconfigured = {name: pair for name, pair in versions.items() if pair[0]}
    yield Check(
        "version of the settings",
        "`ConfigurationsVersion` of an instance group moves",
        "the requested version is applied in every instance group",
        "wait until a running reconfiguration ends; otherwise correct operations/reconfiguration.py",
    ).result(
        "; ".join(
            f"{group}: requested {requested}, applied {applied}" for group, (requested, applied) in versions.items()
        ),
        good=all(requested == applied for requested, applied in reconfigured.values()) if reconfigured else None,
    )
    if any(FIXED_HEAP in setting.properties for setting in context.launch.settings.core):
        has = any(FIXED_HEAP in setting.properties for setting in context.cluster.groups["core"].settings)
        yield Check(
            "heap of the core group",
            "`hbase.regionserver.fixed.heap.enabled` can be set",
            f"the cluster runs, and EMR lists {FIXED_HEAP} for its core group",
            "set the property for the whole cluster",
        ).result(
            f"{'listed' if has else 'not listed'}; the cluster is {context.cluster.state}", good=has and _runs(context)
        )


def _runs(context: VerificationContext) -> bool:
    return context.cluster.state in READY


def _security_is_understood(context: VerificationContext) -> Iterator[CheckResult]:
    """Check on the nodes that EMR understands our security configuration."""
    if not context.instances:
        return
    pages: Any = context.aws.ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "instance-id", "Values": context.instances}]
    )
    nodes = [node for page in pages for reservation in page["Reservations"] for node in reservation["Instances"]]
    lax = [node["InstanceId"] for node in nodes if node.get("MetadataOptions", {}).get("HttpTokens") != "required"]
    # A cluster that does not encrypt its disks uses only one of the two names.
    both = context.launch.environment.encrypt_local_disks
    yield Check(
        "instance metadata",
        "EMR knows the names `EnableEbsEncryption` and `InstanceMetadataServiceConfiguration`" if both else "",
        "every core node requires IMDSv2",
        "correct the name in stacks/cluster.py, and launch a new cluster: EMR applies it only at launch",
    ).result(f"{len(lax)} of {len(nodes)} core nodes also accept IMDSv1", good=not lax and bool(nodes))
    if context.launch.environment.certificates is not None:
        yield Check(
            "encryption in transit",
            "EMR unpacks a zip of PEM files",
            "the cluster runs",
            "read the reason for the cluster's state in the EMR console",
        ).result(context.cluster.state, good=_runs(context))


def _strangers_are_refused(context: VerificationContext) -> Iterator[CheckResult]:
    """Check that HBase ends the connection of a client without credentials."""
    if context.launch.security.kerberos is None:
        return
    yield from Check(
        "client without a ticket",
        "EMR sets `hbase.security.authentication` to `kerberos`",
        "the RegionServer refuses it",
        "close the ports of HBase (`access`), and read hbase.security.* in /etc/hbase/conf/hbase-site.xml of that node",
    ).results_by_node(context.nodes, lambda facts: (facts["stranger"] == "refused", facts["stranger"] or "no answer"))


def _network_suffices(context: VerificationContext) -> Iterator[CheckResult]:
    if context.launch.environment.network.subnet is None:
        yield Check(
            "private subnet",
            "Five interface endpoints and the S3 gateway endpoint",
            "the cluster runs",
            "read in the EMR console which service the nodes could not reach; add its endpoint in stacks/network.py",
        ).result(context.cluster.state, good=_runs(context))


def _accepts_large_volumes(context: VerificationContext) -> Iterator[CheckResult]:
    largest = max(volume.size_gib for volume in context.launch.plan.core.volumes)
    if largest > OLD_RANGE_GIB:
        yield Check(
            "large volumes",
            "EMR accepts cache volumes larger than 1,024 GiB",
            f"a cluster with volumes of {largest:,} GiB runs",
            "configure more and smaller volumes",
        ).result(context.cluster.state, good=_runs(context))


def _volumes_are_encrypted(context: VerificationContext) -> Iterator[CheckResult]:
    if not context.launch.environment.encrypt_local_disks or not context.instances:
        return
    pages: Any = context.aws.ec2.get_paginator("describe_volumes").paginate(
        Filters=[{"Name": "attachment.instance-id", "Values": context.instances}]
    )
    volumes = [volume for page in pages for volume in page["Volumes"]]
    plain = [volume["VolumeId"] for volume in volumes if not volume["Encrypted"]]
    yield Check(
        "encryption of volumes",
        "With `EnableEbsEncryption`, EBS itself encrypts the volumes",
        "every volume of a core node is encrypted",
        "launch a new cluster: EMR sets encryption only at launch",
    ).result(f"{len(plain)} of {len(volumes)} volumes are not encrypted", good=not plain and bool(volumes))
    yield from Check(
        "LUKS mappers",
        "With `EnableEbsEncryption`, EBS itself encrypts the volumes",
        "no volume has a LUKS mapper",
        "no harm: the bootstrap action handles both; correct the comment in bootstrap-actions/disks.sh",
    ).results_by_node(context.nodes, _no_mapper)


def _no_mapper(facts: Facts) -> tuple[bool, str]:
    devices = facts["devices"]
    if devices is None:
        return False, "no answer from lsblk"
    mappers = [device["name"] for device in devices if device["type"] == "crypt"]
    return not mappers, ", ".join(mappers) or "no mapper"


def _nothing_was_edited(context: VerificationContext) -> Iterator[CheckResult]:
    plan = context.launch.plan
    check = Check(
        "edits since the deployment",
        "CloudFormation's drift detection looks at security groups",
        "CloudFormation detects no drift of a resource",
        "if somebody edited the resource, run warmbase deploy; otherwise correct operations/stack_drift.py",
    )
    try:
        stacks = tuple(stack_edits(context.aws, plan.environment, plan.cluster))
    except OperationFailed as failed:
        yield check.result(failed.summary, good=None)
        return
    differences = [line for stack in stacks for line in stack.differences]
    resources = sum(stack.facts for stack in stacks)
    observed = "; ".join(differences[:3]) or f"{resources} resources of {len(stacks)} stacks are as deployed"
    yield check.result(observed, good=not differences and resources > 0)


def _distinguishes_unknown_clusters(context: VerificationContext) -> Iterator[CheckResult]:
    """Check how EMR answers for an unknown cluster, by which warmbase judges whether a claim is stale."""
    yield Check(
        "unknown cluster id",
        "EMR answers `DescribeCluster` for an id that it has forgotten",
        " and ".join(FORGOTTEN),
        "correct FORGOTTEN in operations/environment_cluster.py and in bootstrap-actions/programs/claim_root.py",
    ).result_of_primary(
        context.primary,
        lambda facts: (all(part in facts["forgotten"] for part in FORGOTTEN), facts["forgotten"].strip()[:200]),
    )


def _the_master_has_no_cache(context: VerificationContext) -> Iterator[CheckResult]:
    if not context.launch.plan.mode.has_bucket_cache:
        return

    def verdict(facts: Facts) -> tuple[bool | None, str]:
        lines = facts["master_caches"]
        if lines is None:
            return None, "the log of the master cannot be read"
        return lines == 0, f"{lines} lines mention a BucketCache"

    yield Check(
        "cache of the master",
        "The master ignores `hbase.bucketcache.persistent.path`",
        "the log of the master mentions no BucketCache",
        "read the log of the master; set the cache properties for the core group only",
    ).result_of_primary(context.primary, verdict)


def _claim_is_ours(context: VerificationContext) -> Iterator[CheckResult]:
    environment = context.launch.environment
    if not environment.mode.keeps_data_in_s3 or environment.clusters[context.launch.plan.cluster].role != "active":
        return
    claim = claim_of(context.aws, environment.root)
    holder = claim.cluster if claim else "nobody"
    yield Check("claim of the root", "", context.cluster.id, "warmbase claim").result(
        holder, good=holder == context.cluster.id
    )


LAUNCH_CHECKS = (
    _launch_is_as_pinned,
    _nodes_answer,
    _protection_stays,
    _settings_are_applied,
    _security_is_understood,
    _strangers_are_refused,
    _network_suffices,
    _accepts_large_volumes,
    _volumes_are_encrypted,
    _nothing_was_edited,
    _claim_is_ours,
    _distinguishes_unknown_clusters,
    _the_master_has_no_cache,
)
"""Every check, in the order of the report."""
