"""The launch record of a running cluster, written from its deployed stacks and confirmed by EMR."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

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
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.description import cluster_id, described_groups
from warmbase.operations.cluster.failed_launch import NEVER_SERVED, wait_until_stable
from warmbase.operations.deploy.change_set import template_of
from warmbase.sizing.modes import MODES
from warmbase.stacks.references import Templates, referenced_by


class ObservedCluster(Struct, frozen=True, kw_only=True):
    """A running cluster as EMR describes it."""

    id: str
    environment: str
    spec: ClusterSpec
    availability_zone: str
    launched_at: datetime


def template_spec(properties: Mapping[str, Any], identity: Identity) -> ClusterSpec:
    """Return the cluster of a template's properties, with the account and the region filled in."""
    return read_cluster(resolved(dict(properties), identity.account, identity.region), "the stack")


def confirmed_facts(
    expected: ClusterSpec, live: ObservedCluster, identity: Identity, deployed: Mapping[str, object]
) -> tuple[int, list[str]]:
    """Return how many facts of the template EMR confirms, and a line for each that it contradicts.

    `deployed` has what the stacks say of the properties by which the environment file identifies the cluster: these
    must agree with the file.
    """
    of_stack = {name: getattr(identity, name) for name in deployed} | dict(_facts(expected, expected))
    of_emr = dict(deployed) | dict(_facts(live.spec, expected))
    differences = [
        f"{name}: expected {of_stack.get(name)!r}, EMR has {of_emr.get(name)!r}"
        for name in sorted(of_stack.keys() | of_emr.keys())
        if of_stack.get(name) != of_emr.get(name)
    ]
    return len(of_stack) - len(differences), differences


def identity_of_stacks(
    templates: Templates, stack: str, properties: Mapping[str, Any], identity: Identity
) -> Iterator[tuple[str, object]]:
    """Yield mode, root and its key, write-ahead log, role and network as they were deployed, whatever the file says."""
    spec = template_spec(properties, identity)
    values = {key: setting.value for (_, key), setting in spec.effective("core").items()}
    in_s3 = values.get("hbase.emr.storageMode") == "s3"
    if identity.role != ANALYTICS:
        yield "mode", _mode(values)
        yield "wal", "emr-wal" if values.get("hbase.emr.wal.enabled") == "true" else "hdfs"
    if in_s3:
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


def _mode(values: Mapping[str, str]) -> str:
    """The name of the mode whose settings these are."""
    storage_mode, cached = values.get("hbase.emr.storageMode", "hdfs"), "hbase.bucketcache.ioengine" in values
    return next(
        name for name, mode in MODES.items() if (mode.emr_storage_mode, mode.has_bucket_cache) == (storage_mode, cached)
    )


def _facts(spec: ClusterSpec, expected: ClusterSpec) -> Iterator[tuple[str, object]]:
    """Yield each fact by its name. Settings of groups are left out: they are tuned while the cluster runs."""
    yield "name", spec.name
    yield "release", spec.release_label
    yield "applications", _applications(spec, expected)
    for action in spec.bootstrap_actions:
        yield f"bootstrap action {action.name}", (action.script, *action.arguments)
    for group in spec.groups:
        yield f"{group.role} type", group.instance_type
        yield f"{group.role} volumes", [(volume.size_gib, volume.count) for volume in counted(group.volumes)]
    for (path, key), setting in spec.settings.items():
        yield f"{path} {key}", setting.value


def _applications(spec: ClusterSpec, expected: ClusterSpec) -> list[str]:
    """EMR adds what an application needs and spells names as it likes: what was asked for counts as one fact."""
    names = {name.lower() for name in spec.applications}
    return sorted(
        expected.applications if names >= {name.lower() for name in expected.applications} else spec.applications
    )


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
    record, files, confirmed = _read_stacks(aws, environment, cluster_name)
    before = _earlier(environment, cluster_name)
    record = replace(record, plan=engine_of(environment, cluster_name).plan_at_launch(environment, record, before))
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
    record, _, confirmed = _read_stacks(aws, environment, cluster_name)
    before = launch_records(environment).get(cluster_name)
    if before is None:
        now = f"cluster {record.cluster_id}, launched at {record.launched_at}, is running"
        raise Drifted(
            f"the launch record of {cluster_name} in {record.directory}",
            [f"there is no record; {now}"],
            why=DIFFERS,
            fix=PIN_AGAIN,
        )
    record = replace(record, plan=engine_of(environment, cluster_name).plan_at_launch(environment, record, before))
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


def _earlier(environment: Environment, cluster_name: str) -> LaunchRecord | None:
    """Return the record that is about to be replaced; a broken one does not count."""
    try:
        return launch_records(environment).get(cluster_name)
    except InvalidInput:
        return None


def _read_stacks(aws: Aws, environment: Environment, cluster_name: str) -> tuple[LaunchRecord, dict[str, bytes], int]:
    if cluster_name not in environment.cluster_names:
        cluster_names = ", ".join(environment.cluster_names)
        why = "the file has no such cluster"
        raise InvalidInput.of(
            where=environment.source, what=f"clusters.{cluster_name}", why=why, fix=f"name {cluster_names}"
        )
    with _failures(environment):
        return _read_back(aws, environment, cluster_name)


def _read_back(aws: Aws, environment: Environment, cluster_name: str) -> tuple[LaunchRecord, dict[str, bytes], int]:
    templates = _templates(aws, environment, cluster_name)
    stack = cluster_stack(environment.name, cluster_name)
    [name] = [name for name, resource in templates[stack]["Resources"].items() if resource["Type"] == CLUSTER_TYPE]
    live = _live(aws, environment, cluster_name)
    resources = referenced_by(templates, stack, name)
    identity = identity_of(environment, cluster_name, aws.account)
    properties = resources[stack][name].properties
    deployed = dict(identity_of_stacks(templates, stack, properties, identity))
    confirmed, differences = confirmed_facts(template_spec(properties, identity), live, identity, deployed)
    if differences:
        raise Drifted(
            f"cluster {live.id}, as EMR describes it,",
            differences,
            why="differs from what its stack launched",
            fix="undo the changes that were made by hand, or correct the environment file; then run pin again",
        )
    files = _bootstrap_files(aws, live)
    record = LaunchRecord(
        directory=record_directory(environment, cluster_name),
        identity=identity,
        availability_zone=live.availability_zone,
        cluster_id=live.id,
        # In UTC, so that the record is the same wherever it is written: botocore gives local time.
        launched_at=live.launched_at.astimezone(UTC).isoformat(timespec="seconds"),
        resources=resources,
        bootstrap={file: hashlib.sha256(content).hexdigest() for file, content in files.items()},
    )
    return record, files, confirmed


def _templates(aws: Aws, environment: Environment, cluster_name: str) -> Templates:
    *names, _ = stacks_around(environment.name, cluster_name)
    return {name: template_of(aws, name) for name in names}


def _failures(environment: Environment) -> AbstractContextManager[None]:
    """Translate errors of boto3 into a message with cause and fix."""
    return translated(
        f"could not read the stacks and the cluster of {environment.name} in {environment.region}",
        "deploy first; or use credentials of the account in which it was deployed, which may read its stacks, its"
        " cluster and its bootstrap files",
    )


def _live(aws: Aws, environment: Environment, cluster_name: str) -> ObservedCluster:
    identity = cluster_id(aws, environment.name, cluster_name)
    described: Mapping[str, Any] = aws.emr.describe_cluster(ClusterId=identity)["Cluster"]
    state = described["Status"]["State"]
    if not is_running(state) or state in NEVER_SERVED:
        file = Path(environment.source).stem
        command = f"deploy {file}" if is_running(state) else f"teardown {file} {cluster_name}"
        raise OperationFailed.of(
            where=f"cluster {identity}",
            what=f"is {state}",
            why="only a running cluster is recorded",
            fix=f"clear away what is left of it: warmbase {command}",
        )
    actions: Any = aws.emr.list_bootstrap_actions(ClusterId=identity)["BootstrapActions"]
    groups = (described.group for described in described_groups(aws, identity).values())
    return ObservedCluster(
        id=identity,
        environment=environment.name,
        spec=read_described_cluster(described, groups, map(read_bootstrap_action, actions), identity),
        availability_zone=described["Ec2InstanceAttributes"]["Ec2AvailabilityZone"],
        launched_at=described["Status"]["Timeline"]["CreationDateTime"],
    )


def _bootstrap_files(aws: Aws, live: ObservedCluster) -> dict[str, bytes]:
    """Return each script and program that the bootstrap actions fetch, by a name that tells which it is."""
    urls: dict[str, str] = {}
    for action in live.spec.bootstrap_actions:
        urls.setdefault(action.script, f"{action.name}{_suffix(action.script)}")
        for argument in action.arguments:
            name, _, url = argument.removeprefix("--").partition("=")
            if url.startswith("s3://"):
                urls.setdefault(url, f"{action.name}-{name}{_suffix(url)}")
    return {name: _fetched(aws, url) for url, name in urls.items()}


def _suffix(url: str) -> str:
    return f".{url.rpartition('.')[2]}"


def _fetched(aws: Aws, url: str) -> bytes:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    try:
        return aws.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except aws.s3.exceptions.NoSuchKey:
        raise OperationFailed.of(
            where=url,
            what="does not exist",
            why="the cluster's bootstrap actions download this file; without it no new node can join",
            fix="upload the file again under that key",
        ) from None
