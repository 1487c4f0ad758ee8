"""Checks of the cluster's groups, security and volumes, and of edits since the deployment, on every cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from environments.names import cluster_stack
from operations.pinning import check_pinned
from operations.stack_drift import stack_edits
from operations.verification.check import Check, CheckResult, Facts, VerificationContext
from sizing.problem import Drifted, OperationFailed

READY: Final = frozenset({"RUNNING", "WAITING"})
EBS: Final = "gp3"
OLD_RANGE_GIB: Final = 1024
"""The largest volume that EMR's pages once named."""


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
    """Check the version of each group's settings."""
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


def runs(context: VerificationContext) -> bool:
    """Return whether EMR says that the cluster runs."""
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
        "correct the name in stacks/emr_cluster.py, and launch a new cluster: EMR applies it only at launch",
    ).result(f"{len(lax)} of {len(nodes)} core nodes also accept IMDSv1", good=not lax and bool(nodes))
    if context.launch.environment.certificates is not None:
        yield Check(
            "encryption in transit",
            "EMR unpacks a zip of PEM files",
            "the cluster runs",
            "read the reason for the cluster's state in the EMR console",
        ).result(context.cluster.state, good=runs(context))


def _network_suffices(context: VerificationContext) -> Iterator[CheckResult]:
    if context.launch.environment.network.subnet is None:
        yield Check(
            "private subnet",
            "Five interface endpoints and the S3 gateway endpoint",
            "the cluster runs",
            "read in the EMR console which service the nodes could not reach; add its endpoint in stacks/network.py",
        ).result(context.cluster.state, good=runs(context))


def _accepts_large_volumes(context: VerificationContext) -> Iterator[CheckResult]:
    largest = max(volume.size_gib for volume in context.core.volumes if volume.type == EBS)
    if largest > OLD_RANGE_GIB:
        yield Check(
            "large volumes",
            "EMR accepts cache volumes larger than 1,024 GiB",
            f"a cluster with volumes of {largest:,} GiB runs",
            "configure more and smaller volumes",
        ).result(context.cluster.state, good=runs(context))


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


LAUNCH_CHECKS = (
    _launch_is_as_pinned,
    _nodes_answer,
    _protection_stays,
    _settings_are_applied,
    _security_is_understood,
    _network_suffices,
    _accepts_large_volumes,
    _volumes_are_encrypted,
    _nothing_was_edited,
)
"""Every check, in the order of the report."""
