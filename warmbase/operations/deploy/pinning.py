"""The launch record of a running cluster, written from its deployed stacks and confirmed by EMR."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import UTC
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.changes.engine_facet import changes_of
from warmbase.changes.planned_cluster import recorded_plan
from warmbase.emr.api import read_bootstrap_action, read_described_cluster
from warmbase.emr.cloudformation import CLUSTER_TYPE, SECURITY_TYPE, read_cluster, resolved
from warmbase.emr.cluster_spec import ClusterSpec, counted
from warmbase.emr.cluster_state import is_running
from warmbase.engines.engine import engine_of
from warmbase.environments.environment import ANALYTICS, Environment
from warmbase.environments.launch_record import (
    Identity,
    LaunchRecord,
    check_record,
    identity_of,
    launch_records,
    record_directory,
    write_record,
)
from warmbase.environments.names import cluster_stack, network_stack, stacks_around
from warmbase.ground.errors import Drifted, InvalidInput, OperationFailed
from warmbase.operations.aws.clients import Aws, entries
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.description import cluster_id, described_groups
from warmbase.operations.cluster.failed_launch import NEVER_SERVED, wait_until_stable
from warmbase.operations.cluster.stack import template_of
from warmbase.sizing.modes import MODES
from warmbase.stacks.references import Templates, referenced_by

DIFFERS: Final = "differs from the running cluster"
PIN_AGAIN: Final = "write the record again: warmbase pin ENV"


class Pinned(Struct, frozen=True, kw_only=True):
    """A written record, the number of facts that EMR confirmed, and whether an earlier record was different."""

    record: LaunchRecord
    confirmed: int
    replaced: bool


def pin(aws: Aws, environment: Environment, cluster_name: str) -> Pinned:
    """Writes the launch record of that cluster, in place of one that is there.

    Raises InvalidInput where the file has no such cluster, OperationFailed where none runs or AWS does not answer,
    Drifted where EMR describes another than its stack made, or the file another root or role than the cluster's.
    """
    record, files, confirmed = _read_back(aws, environment, cluster_name)
    before = None
    with suppress(InvalidInput):  # a broken record is replaced
        before = launch_records(environment).get(cluster_name)
    record = replace(
        record, plan=changes_of(engine_of(environment, cluster_name)).plan_at_launch(environment, record, before)
    )
    aws.check("write the launch record")
    write_record(record, files)
    replaced = before is not None and replace(before, plan=record.plan) != record
    return Pinned(record=record, confirmed=confirmed, replaced=replaced)


def pin_once(aws: Aws, environment: Environment, cluster_name: str, say: Say) -> str:
    """Write the launch record once the stack has settled, and return the outcome; an existing record stays.

    Raises Refused where that record is another cluster's.
    """
    record = launch_records(environment).get(cluster_name)
    with _failures(environment):
        wait_until_stable(aws, cluster_stack(environment.name, cluster_name), say)
        if record is not None:
            check_record(environment, cluster_name, record, cluster_id(aws, environment.name, cluster_name))
    if record is not None and record.plan is not None:
        return "already recorded"
    if record is not None:
        return f"already recorded; the plan was added to {upgrade(record).directory}: commit it"
    pinned = pin(aws, environment, cluster_name)
    return f"{pinned.record.cluster_id}, EMR confirms {pinned.confirmed} facts: {pinned.record.directory}; commit it"


def check_pinned(aws: Aws, environment: Environment, cluster_name: str) -> Pinned:
    """Return what `pin` would, and write nothing. Raises Drifted if the record is missing or does not match."""
    record, _, confirmed = _read_back(aws, environment, cluster_name)
    before = launch_records(environment).get(cluster_name)
    if before is None:
        now = f"cluster {record.cluster_id}, launched at {record.launched_at}, is running"
        raise Drifted(
            f"the launch record of {cluster_name} in {record.directory}",
            [f"there is no record; {now}"],
            why=DIFFERS,
            fix=PIN_AGAIN,
        )
    record = replace(
        record, plan=changes_of(engine_of(environment, cluster_name)).plan_at_launch(environment, record, before)
    )
    differences = list(_record_differences(before, record))
    if differences:
        raise Drifted(
            f"the launch record of {cluster_name} in {record.directory}", differences, why=DIFFERS, fix=PIN_AGAIN
        )
    return Pinned(record=record, confirmed=confirmed, replaced=False)


def upgrade(record: LaunchRecord) -> LaunchRecord:
    """Writes the plan into a record from before 0.1.0, which has none, without asking AWS. The bytes it holds stay."""
    upgraded = replace(record, plan=recorded_plan(record))
    write_record(upgraded, {name: record.file(name).read_bytes() for name in record.bootstrap})
    return upgraded


def _record_differences(before: LaunchRecord, now: LaunchRecord) -> Iterator[str]:
    """Yield each difference between a record and what runs, with account and region filled in."""
    for name in ("cluster_id", "launched_at", "identity", "availability_zone", "bootstrap"):
        was, now_is = getattr(before, name), getattr(now, name)
        if was != now_is:
            yield f"{name}: the record has {was}, the running cluster {now_is}"
    if before.plan not in {None, now.plan}:
        yield "plan: the figures of the record differ from those of the launch"
    account, region = now.identity.account, now.identity.region
    for stack in sorted(before.resources.keys() | now.resources.keys()):
        was_there, is_there = before.resources.get(stack, {}), now.resources.get(stack, {})
        for name in sorted(was_there.keys() | is_there.keys()):
            sides = [
                None if resource is None else resolved(dict(resource.properties), account, region)
                for resource in (was_there.get(name), is_there.get(name))
            ]
            if sides[0] != sides[1]:
                yield f"{stack}: {name} differs"


def _read_back(aws: Aws, environment: Environment, cluster_name: str) -> tuple[LaunchRecord, dict[str, bytes], int]:
    """Return the record of the running cluster, its bootstrap files, and the number of facts that EMR confirms.

    Raises Drifted where EMR contradicts the template, or where the stacks have other properties than those by which the
    environment file identifies the cluster.
    """
    if cluster_name not in environment.cluster_names:
        raise InvalidInput.of(
            where=environment.source,
            what=f"clusters.{cluster_name}",
            why="the file has no such cluster",
            fix=f"name {', '.join(environment.cluster_names)}",
        )
    with _failures(environment):
        *stacks, _ = stacks_around(environment.name, cluster_name)
        templates: Templates = {name: template_of(aws, name) for name in stacks}
        stack = cluster_stack(environment.name, cluster_name)
        [name] = [name for name, resource in templates[stack]["Resources"].items() if resource["Type"] == CLUSTER_TYPE]
        live_id = cluster_id(aws, environment.name, cluster_name)
        described: Mapping[str, Any] = aws.emr.describe_cluster(ClusterId=live_id)["Cluster"]
        state = described["Status"]["State"]
        if not is_running(state) or state in NEVER_SERVED:
            file = environment.argument
            command = f"deploy {file}" if is_running(state) else f"teardown {file} {cluster_name}"
            raise OperationFailed.of(
                where=f"cluster {live_id}",
                what=f"is {state}",
                why="only a running cluster is recorded",
                fix=f"clear away what is left of it: warmbase {command}",
            )
        actions = entries(aws.emr.get_paginator("list_bootstrap_actions"), "BootstrapActions", ClusterId=live_id)
        groups = (group.group for group in described_groups(aws, live_id).values())
        live = read_described_cluster(described, groups, map(read_bootstrap_action, actions), live_id)
        resources = referenced_by(templates, stack, name)
        identity = identity_of(environment, cluster_name, aws.account)
        properties = resources[stack][name].properties
        expected = read_cluster(resolved(dict(properties), identity.account, identity.region), "the stack")
        deployed = dict(_deployed_identity(templates, stack, properties, expected, identity))
        of_stack = {key: getattr(identity, key) for key in deployed} | dict(_facts(expected, expected))
        of_emr = deployed | dict(_facts(live, expected))
        differences = [
            f"{key}: expected {of_stack.get(key)!r}, EMR has {of_emr.get(key)!r}"
            for key in sorted(of_stack.keys() | of_emr.keys())
            if of_stack.get(key) != of_emr.get(key)
        ]
        if differences:
            raise Drifted(
                f"cluster {live_id}, as EMR describes it,",
                differences,
                why="differs from what its stack launched",
                fix="undo the changes that were made by hand, or correct the environment file; then run pin again",
            )
        files = _bootstrap_files(aws, live)
        created = described["Status"]["Timeline"]["CreationDateTime"]
        record = LaunchRecord(
            directory=record_directory(environment, cluster_name),
            identity=identity,
            availability_zone=described["Ec2InstanceAttributes"]["Ec2AvailabilityZone"],
            cluster_id=live_id,
            # In UTC, so that the record is the same wherever it is written: botocore gives local time.
            launched_at=created.astimezone(UTC).isoformat(timespec="seconds"),
            resources=resources,
            bootstrap={file: hashlib.sha256(content).hexdigest() for file, content in files.items()},
        )
    return record, files, len(of_stack)


def _failures(environment: Environment) -> AbstractContextManager[None]:
    """Translate errors of boto3 into a message with cause and fix."""
    return translated(
        f"could not read the stacks and the cluster of {environment.name} in {environment.region}",
        "deploy first; or use credentials of the account in which it was deployed, which may read its stacks, its"
        " cluster and its bootstrap files",
    )


def _deployed_identity(
    templates: Templates, stack: str, properties: Mapping[str, Any], spec: ClusterSpec, identity: Identity
) -> Iterator[tuple[str, object]]:
    """Yield mode, root and its key, write-ahead log, role and network as they were deployed, whatever the file says."""
    values = {key: setting.value for (_, key), setting in spec.effective("core").items()}
    if identity.role != ANALYTICS:
        cached = (values.get("hbase.emr.storageMode", "hdfs"), "hbase.bucketcache.ioengine" in values)
        modes = {(mode.emr_storage_mode, mode.has_bucket_cache): name for name, mode in MODES.items()}
        yield "mode", modes[cached]
        yield "wal", "emr-wal" if values.get("hbase.emr.wal.enabled") == "true" else "hdfs"
    if values.get("hbase.emr.storageMode") == "s3":
        # In HDFS mode nobody else can write to the data: there is no replica, and the root belongs to this cluster.
        yield "root", values.get("hbase.rootdir")
        yield "role", "replica" if values.get("hbase.emr.readreplica.enabled") == "true" else "active"
    [security] = [resource for resource in templates[stack]["Resources"].values() if resource["Type"] == SECURITY_TYPE]
    at_rest = security["Properties"]["SecurityConfiguration"]["EncryptionConfiguration"]
    key = at_rest["AtRestEncryptionConfiguration"]["S3EncryptionConfiguration"]["AwsKmsKey"]
    # The template names its own key, and its own network, by reference.
    yield "root_key", key if isinstance(key, str) else ""
    nodes = properties["Instances"]
    # Clusters of earlier versions name their one subnet in a list (decision 0021).
    [subnet] = nodes["Ec2SubnetIds"] if "Ec2SubnetIds" in nodes else [nodes["Ec2SubnetId"]]
    yield "subnet", subnet if isinstance(subnet, str) else "new"
    network = templates[network_stack(identity.environment)]["Resources"].values()
    vpcs = {
        str(resource["Properties"]["VpcId"]) for resource in network if resource["Type"] == "AWS::EC2::SecurityGroup"
    }
    own = any(resource["Type"] == "AWS::EC2::VPC" for resource in network)
    yield "vpc", "new" if own else ", ".join(sorted(vpcs))


def _facts(spec: ClusterSpec, expected: ClusterSpec) -> Iterator[tuple[str, object]]:
    """Yield each fact by its name. Settings of groups are left out: they are tuned while the cluster runs."""
    yield "name", spec.name
    yield "release", spec.release_label
    # EMR adds applications that others need, and changes the case of names. The requested ones count as one fact.
    names, asked = ({name.lower() for name in one.applications} for one in (spec, expected))
    yield "applications", sorted(expected.applications if names >= asked else spec.applications)
    for action in spec.bootstrap_actions:
        yield f"bootstrap action {action.name}", (action.script, *action.arguments)
    for group in spec.groups:
        yield f"{group.role} type", group.instance_type
        yield f"{group.role} volumes", [(volume.size_gib, volume.count) for volume in counted(group.volumes)]
    for (path, key), setting in spec.settings.items():
        yield f"{path} {key}", setting.value


def _bootstrap_files(aws: Aws, live: ClusterSpec) -> dict[str, bytes]:
    """Return each script and program that the bootstrap actions fetch, by a name that tells which it is."""
    names: dict[str, str] = {}
    for action in live.bootstrap_actions:
        names.setdefault(action.script, action.name)
        for argument in action.arguments:
            option, _, url = argument.removeprefix("--").partition("=")
            if url.startswith("s3://"):
                names.setdefault(url, f"{action.name}-{option}")
    files: dict[str, bytes] = {}
    for url, name in names.items():
        bucket, _, key = url.removeprefix("s3://").partition("/")
        try:
            body = aws.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        except aws.s3.exceptions.NoSuchKey:
            raise OperationFailed.of(
                where=url,
                what="does not exist",
                why="the cluster's bootstrap actions download this file; without it no new node can join",
                fix="upload the file again under that key",
            ) from None
        files[f"{name}.{url.rpartition('.')[2]}"] = body
    return files
