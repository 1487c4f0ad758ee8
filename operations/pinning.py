"""Writes down what a running cluster was launched with: from its stacks as deployed, read back from EMR."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from configurations.classification import Classification, flattened
from environments.environment import Environment
from environments.launch_record import (
    Identity,
    LaunchRecord,
    identity_of,
    launch_records,
    record_directory,
    write_record,
)
from operations.aws import Aws
from operations.description import cluster_id
from sizing.problem import Drifted, InvalidInput, OperationFailed, Problem
from stacks.reach import CLUSTER_TYPE, Templates, reached, settled

__all__ = ["Pinned", "check_pinned", "pin"]

LIVES: Final = frozenset({"STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING"})
GROUPS: Final = {"MASTER": "MasterInstanceGroup", "CORE": "CoreInstanceGroup"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """A record as written, how many facts EMR confirmed, and whether one before it was of something else."""

    record: LaunchRecord
    confirmed: int
    replaced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A running cluster as EMR describes it."""

    id: str
    described: Mapping[str, Any]
    groups: tuple[Mapping[str, Any], ...]
    actions: tuple[Mapping[str, Any], ...]


def pin(aws: Aws, environment: Environment, colour: str) -> Pinned:
    """Writes the launch record of that cluster, in place of one that is there.

    Raises InvalidInput where the file has no such cluster, OperationFailed where none runs or AWS does not answer,
    Drifted where EMR describes another than its stack made, or the file another root or role than the cluster's.
    """
    record, files, confirmed = _found(aws, environment, colour)
    before = _earlier(environment, colour)
    write_record(record, files)
    return Pinned(record=record, confirmed=confirmed, replaced=before is not None and before != record)


def check_pinned(aws: Aws, environment: Environment, colour: str) -> Pinned:
    """As `pin`, and writes nothing. Raises Drifted where the record is missing or of something else."""
    record, _, confirmed = _found(aws, environment, colour)
    before = launch_records(environment).get(colour)
    if before != record:
        why = "there is none" if before is None else f"it is of {before.cluster_id}, launched at {before.launched_at}"
        now = f"{record.cluster_id}, launched at {record.launched_at}, runs"
        raise Drifted(f"the launch record of {colour} in {record.directory}", [f"{why}; {now}"])
    return Pinned(record=record, confirmed=confirmed, replaced=False)


def _earlier(environment: Environment, colour: str) -> LaunchRecord | None:
    """A record that is about to be replaced; a broken one is none."""
    try:
        return launch_records(environment).get(colour)
    except InvalidInput:
        return None


def _found(aws: Aws, environment: Environment, colour: str) -> tuple[LaunchRecord, dict[str, bytes], int]:
    if colour not in environment.clusters:
        known = ", ".join(environment.clusters)
        why = "the file has no such cluster"
        raise InvalidInput([Problem(where=environment.source, what=f"clusters.{colour}", why=why, fix=f"name {known}")])
    with _failures(environment):
        return _read_back(aws, environment, colour)


def _read_back(aws: Aws, environment: Environment, colour: str) -> tuple[LaunchRecord, dict[str, bytes], int]:
    templates = _templates(aws, environment, colour)
    stack = f"warmbase-{environment.name}-{colour}-cluster"
    [name] = [name for name, each in templates[stack]["Resources"].items() if each["Type"] == CLUSTER_TYPE]
    live = _live(aws, environment, colour)
    resources = reached(templates, stack, name)
    identity = identity_of(environment, colour, aws.account)
    launched = resources[stack][name].properties
    confirmed, differences = _confirmed(launched, live, identity)
    if differences:
        raise Drifted(f"cluster {live.id}, as EMR describes it,", differences)
    files = _bootstrap_files(aws, live)
    record = LaunchRecord(
        directory=record_directory(environment, colour),
        identity=identity,
        availability_zone=live.described["Ec2InstanceAttributes"]["Ec2AvailabilityZone"],
        cluster_id=live.id,
        launched_at=live.described["Status"]["Timeline"]["CreationDateTime"].isoformat(timespec="seconds"),
        resources=resources,
        bootstrap={file: hashlib.sha256(content).hexdigest() for file, content in files.items()},
    )
    return record, files, confirmed


def _templates(aws: Aws, environment: Environment, colour: str) -> Templates:
    names = (f"{environment.name}-network", f"{environment.name}-storage", f"{environment.name}-{colour}-cluster")
    return {f"warmbase-{name}": _template(aws, f"warmbase-{name}") for name in names}


@contextmanager
def _failures(environment: Environment) -> Iterator[None]:
    """What boto3 says, as what, why and how to mend it."""
    try:
        yield
    except ClientError as error:
        raise OperationFailed(
            f"what runs of {environment.name} in {environment.region} could not be read\n  {error}\n"
            "  fix: deploy first; or use credentials of the account in which it was deployed, which may read its"
            " stacks, its cluster and its bootstrap files"
        ) from error
    except BotoCoreError as error:
        raise OperationFailed(
            f"AWS could not be asked what runs of {environment.name} in {environment.region}\n  {error}\n"
            "  fix: set AWS_PROFILE or other credentials, and reach AWS from here"
        ) from error


def _template(aws: Aws, stack: str) -> Mapping[str, Any]:
    body: Any = aws.cloudformation.get_template(StackName=stack, TemplateStage="Processed")["TemplateBody"]
    parsed: Mapping[str, Any] = json.loads(body) if isinstance(body, str) else body
    return parsed


def _live(aws: Aws, environment: Environment, colour: str) -> Live:
    identity = cluster_id(aws, environment.name, colour)
    described: Mapping[str, Any] = aws.emr.describe_cluster(ClusterId=identity)["Cluster"]
    state = described["Status"]["State"]
    if state not in LIVES:
        raise OperationFailed(
            f"cluster {identity} is {state}: nothing runs that a deployment could replace\n"
            "  fix: launch it again by deploying, without a launch record"
        )
    groups: Any = aws.emr.list_instance_groups(ClusterId=identity)["InstanceGroups"]
    actions: Any = aws.emr.list_bootstrap_actions(ClusterId=identity)["BootstrapActions"]
    return Live(id=identity, described=described, groups=tuple(groups), actions=tuple(actions))


def _confirmed(launched: Mapping[str, Any], live: Live, identity: Identity) -> tuple[int, list[str]]:
    """How many facts of the template EMR says too, and those that it says otherwise."""
    of_stack, of_emr = dict(_facts_of_template(launched, identity)), dict(_facts_of_emr(launched, live))
    # What the file says it is, held against what was launched.
    of_stack["root"] = identity.root if identity.mode != "hdfs" else of_emr.get("root")
    of_stack["role"] = identity.role
    differences = [
        f"{name}: expected {of_stack.get(name)!r}, EMR has {of_emr.get(name)!r}"
        for name in sorted(of_stack.keys() | of_emr.keys())
        if of_stack.get(name) != of_emr.get(name)
    ]
    return len(of_stack) - len(differences), differences


def _facts_of_template(launched: Mapping[str, Any], identity: Identity) -> Iterator[tuple[str, object]]:
    yield "name", launched["Name"]
    yield "release", launched["ReleaseLabel"]
    yield "applications", sorted(each["Name"] for each in launched["Applications"])
    for action in settled(launched["BootstrapActions"], identity.account, identity.region):
        script = action["ScriptBootstrapAction"]
        yield f"bootstrap action {action['Name']}", (script["Path"], *script.get("Args", ()))
    for kind, key in GROUPS.items():
        group = launched["Instances"][key]
        yield f"{kind} type", group["InstanceType"]
        volumes = group["EbsConfiguration"]["EbsBlockDeviceConfigs"]
        yield (
            f"{kind} volumes",
            sorted(
                each["VolumeSpecification"]["SizeInGB"]
                for each in volumes
                for _ in range(each.get("VolumesPerInstance", 1))
            ),
        )
    configurations = settled(launched["Configurations"], identity.account, identity.region)
    for path, key, value in flattened(_settings(configurations, "ConfigurationProperties")):
        yield f"{path} {key}", value


def _facts_of_emr(launched: Mapping[str, Any], live: Live) -> Iterator[tuple[str, object]]:
    described = live.described
    yield "name", described["Name"]
    yield "release", described["ReleaseLabel"]
    asked = {each["Name"].lower() for each in launched["Applications"]}
    # EMR adds what an application needs, and writes names as it likes.
    named = {each["Name"].lower(): each["Name"] for each in described["Applications"]}
    yield (
        "applications",
        sorted(each["Name"] for each in launched["Applications"]) if asked <= named.keys() else sorted(named.values()),
    )
    for action in live.actions:
        yield f"bootstrap action {action['Name']}", (action["ScriptPath"], *action["Args"])
    yield "role", "active" if any(action["Name"] == "claim-root" for action in live.actions) else "replica"
    for group in live.groups:
        kind = group["InstanceGroupType"]
        yield f"{kind} type", group["InstanceType"]
        yield f"{kind} volumes", sorted(each["VolumeSpecification"]["SizeInGB"] for each in group["EbsBlockDevices"])
    for path, key, value in flattened(_settings(described.get("Configurations", []), "Properties")):
        yield f"{path} {key}", value
        if (path, key) == ("hbase-site", "hbase.rootdir"):
            yield "root", value


def _settings(classifications: list[Mapping[str, Any]], properties: str) -> Iterator[Classification]:
    """As EMR's API spells them, or as CloudFormation does."""
    for each in classifications:
        inner = tuple(_settings(each.get("Configurations", []), properties))
        yield Classification(name=each["Classification"], properties=each.get(properties, {}), nested=inner)


def _bootstrap_files(aws: Aws, live: Live) -> dict[str, bytes]:
    """Each script and each program that the cluster's bootstrap actions fetch, once, under a name that says which."""
    urls: dict[str, str] = {}
    for action in live.actions:
        script = action["ScriptPath"]
        urls.setdefault(script, f"{action['Name']}{_suffix(script)}")
        for argument in action["Args"]:
            name, _, url = argument.removeprefix("--").partition("=")
            if url.startswith("s3://"):
                urls.setdefault(url, f"{action['Name']}-{name}{_suffix(url)}")
    return {name: _fetched(aws, url) for url, name in urls.items()}


def _suffix(url: str) -> str:
    return f".{url.rpartition('.')[2]}"


def _fetched(aws: Aws, url: str) -> bytes:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    try:
        return aws.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    except aws.s3.exceptions.NoSuchKey:
        raise OperationFailed(
            f"{url}, which the cluster's bootstrap actions fetch, is gone\n"
            "  fix: put the file back under that key: new nodes cannot join without it"
        ) from None
