"""Checks of the account before a deployment: credentials, CDK bootstrap, stacks, records, instance types, quotas.

`PreflightCheck` and its context are the types of every check before a deployment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from warmbase.configurations.launch import Launch
from warmbase.emr.cluster_state import has_ended, is_running
from warmbase.environments.environment import Environment, Wal
from warmbase.environments.launch_record import LaunchRecord
from warmbase.environments.names import stacks_around
from warmbase.facts.ec2 import instance_types
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import MISSING, error_code
from warmbase.operations.cluster.failed_launch import STUCK, find_failed_launches, way_out
from warmbase.operations.cluster.stack import state_of, status_of, unknown_cluster
from warmbase.operations.deploy.change_set import cdk_command, cdk_installation, cdk_version


class PreflightCheck(Struct, frozen=True, kw_only=True):
    """The result of one check: what it observed and, where that prevents a deployment, the problem and the fix."""

    name: str
    detail: str
    problem: str = ""
    fix: str = ""


class PreflightContext(Struct, frozen=True, kw_only=True):
    """The clusters to be deployed, and what the checks need to know about them."""

    aws: Aws
    environment: Environment
    launches: Mapping[str, Launch]
    records: Mapping[str, LaunchRecord]

    @property
    def new(self) -> Mapping[str, Launch]:
        """Return the clusters that are not launched yet."""
        return {
            cluster_name: launch for cluster_name, launch in self.launches.items() if cluster_name not in self.records
        }


BOOTSTRAP: Final = "/cdk-bootstrap/hnb659fds/version"
STANDARD_VCPUS: Final = ("ec2", "L-1216C47A")
"""Service Quotas: Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances."""
STANDARD: Final = re.compile(r"[acdhimrtz]\d")
GP3_TIB: Final = ("ebs", "L-7A658B76")
"""Service Quotas: Storage for General Purpose SSD (gp3) volumes, in TiB."""

WAL_ROLE: Final = "AWSServiceRoleForEMRWAL"
LINKED_ROLES: Final = {
    "AWSServiceRoleForEMRCleanup": "elasticmapreduce.amazonaws.com",
    WAL_ROLE: "emrwal.amazonaws.com",
}
"""EMR Management Guide, using-service-linked-roles-cleanup and -wal: EMR creates them at the first launch."""
AWS_KEY: Final = "alias/aws/ebs"
DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})


def _credentials(context: PreflightContext) -> Iterator[PreflightCheck]:
    yield PreflightCheck(name="credentials", detail=f"account {context.aws.account}, {context.environment.region}")


def _command_line(_: PreflightContext) -> Iterator[PreflightCheck]:
    """Check that the CDK command line has the version that reads the assemblies which the library writes."""
    name, program, want, fix = "CDK command line", cdk_command(), cdk_version(), cdk_installation()
    if program is None:
        yield PreflightCheck(name=name, detail="none", problem="there is no `cdk`", fix=fix)
        return
    # The command is a link to bin/cdk of its package.
    package = program.resolve().parents[1] / "package.json"
    have = str(json.loads(package.read_text(encoding="utf-8"))["version"])
    problem = "" if have == want else f"{want} is the version of this release of warmbase"
    yield PreflightCheck(name=name, detail=have, **({"problem": problem, "fix": fix} if problem else {}))


def _bootstrapped(context: PreflightContext) -> Iterator[PreflightCheck]:
    try:
        version = context.aws.ssm.get_parameter(Name=BOOTSTRAP)["Parameter"]["Value"]
    except ClientError as error:
        if error_code(error) not in MISSING:
            raise
        command = f"npx cdk bootstrap aws://{context.aws.account}/{context.environment.region}"
        yield PreflightCheck(
            name="cdk bootstrap",
            detail="none",
            problem="this account and region have no CDK bucket for templates and bootstrap files yet",
            fix=f"run once, with an administrator's credentials: {command}",
        )
        return
    yield PreflightCheck(name="cdk bootstrap", detail=f"version {version}")


def _stacks(context: PreflightContext) -> Iterator[PreflightCheck]:
    failed = find_failed_launches(context.aws, context.environment)
    for launch in failed:
        fix = f"`warmbase deploy {Path(context.environment.source).stem}` asks, ends it, and launches again"
        yield PreflightCheck(name=launch.stack, detail=launch.stack_status, problem=launch.text, fix=fix)
    for cluster_name in context.environment.cluster_names:
        for stack in stacks_around(context.environment.name, cluster_name):
            status = status_of(context.aws, stack)
            if status is not None and status in STUCK and stack not in {launch.stack for launch in failed}:
                means, way = way_out(context.aws, stack, status)
                fix = f"{way}; the events of the stack say why"
                yield PreflightCheck(name=stack, detail=status, problem=means, fix=fix)


def _records(context: PreflightContext) -> Iterator[PreflightCheck]:
    for cluster_name, record in context.records.items():
        state = state_of(context.aws, record.cluster_id)
        check = partial(PreflightCheck, name=f"cluster {cluster_name}")
        detail = f"{record.cluster_id}, {state or 'unknown to EMR'}"
        if is_running(state):
            yield check(detail=detail)
        elif state is None and not has_ended(state, record.launched_at):
            problem = unknown_cluster(context.aws, f"cluster {record.cluster_id}", record.launched_at)
            yield check(detail=detail, problem=f"it {problem.what}; {problem.why}", fix=problem.fix)
        else:
            yield check(
                detail=detail,
                problem=f"{record.directory} records a cluster that is no longer running; while it exists, a"
                " deployment launches no other",
                fix="remove what is left of it: warmbase teardown"
                f" {Path(context.environment.source).stem} {cluster_name}",
            )


def _offered(context: PreflightContext) -> Iterator[PreflightCheck]:
    zone = context.environment.network.availability_zone
    types = sorted({name for launch in context.new.values() for name in _types(launch)})
    if not types:
        return
    pages: Any = context.aws.ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone",
        Filters=[{"Name": "location", "Values": [zone]}, {"Name": "instance-type", "Values": types}],
    )
    offered = {
        instance_type_offering["InstanceType"]
        for page in pages
        for instance_type_offering in page["InstanceTypeOfferings"]
    }
    missing = [name for name in types if name not in offered]
    if missing:
        yield PreflightCheck(
            name="instance types",
            detail=", ".join(types),
            problem=f"{zone} does not offer {', '.join(missing)}",
            fix="name another availability_zone in `network`, or limit `core: {families: […]}` to what it offers",
        )
        return
    yield PreflightCheck(name="instance types", detail=f"{', '.join(types)} in {zone}")


def _types(launch: Launch) -> tuple[str, str]:
    return (launch.plan.primary.instance_type, launch.plan.core.instance_type)


def _quotas(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check the account's quotas against the nodes of the new clusters, without what else is running in it."""
    vcpus, gib = 0, 0
    for launch in context.new.values():
        for group in (launch.plan.primary, launch.plan.core):
            if STANDARD.match(group.instance_type):
                vcpus += group.count * instance_types()[group.instance_type].vcpus
            gib += group.count * sum(volume.count * volume.size_gib for volume in group.volumes if volume.type == "gp3")
    for name, quota, needed, unit in (
        ("vCPU quota", STANDARD_VCPUS, float(vcpus), "vCPUs"),
        ("gp3 quota", GP3_TIB, gib / 1024, "TiB"),
    ):
        if not needed:
            continue
        limit = _quota(context.aws, *quota)
        if limit is None:
            yield PreflightCheck(name=name, detail=f"{needed:,.3g} {unit} needed; the quota could not be read")
            continue
        detail = f"{needed:,.3g} of {limit:,.0f} {unit}, not counting what else is running"
        if needed > limit:
            service, code = quota
            command = f"request-service-quota-increase --service-code {service} --quota-code {code}"
            fix = f"request an increase: aws service-quotas {command}"
            yield PreflightCheck(
                name=name, detail=detail, problem="the quota is too small for this cluster alone", fix=fix
            )
        else:
            yield PreflightCheck(name=name, detail=detail)


def _linked_roles(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Warn if the launch must create a role of EMR's, for which it may lack the permission."""
    emr_wal = context.environment.wal is Wal.EMR_WAL
    for name, service in LINKED_ROLES.items():
        if not context.new or (name == WAL_ROLE and not emr_wal):
            continue
        check = partial(PreflightCheck, name=f"role {name}")
        try:
            context.aws.iam.get_role(RoleName=name)
            yield check(detail="exists")
        except ClientError as error:
            if error_code(error) == "NoSuchEntity":
                command = f"aws iam create-service-linked-role --aws-service-name {service}"
                detail = (
                    f"does not exist; the launch needs iam:CreateServiceLinkedRole for it, or run this once: {command}"
                )
                yield check(detail=detail)
            elif error_code(error) in DENIED:
                yield check(detail="could not be read; if it does not exist, the launch creates it")
            else:
                raise


def _volume_key(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Warn of an account that encrypts each new volume with a key that EMR's service role may not use.

    With `security: {local_disks: true}`, EMR asks for each volume, the root volume too, to be encrypted with the key of
    the environment, and the account's default does not matter.
    """
    if not context.new or context.environment.encrypt_local_disks:
        return
    try:
        if not context.aws.ec2.get_ebs_encryption_by_default()["EbsEncryptionByDefault"]:
            return
        key = context.aws.ec2.get_ebs_default_kms_key_id()["KmsKeyId"]
    except ClientError as error:
        if error_code(error) not in DENIED:
            raise
        yield PreflightCheck(name="key of volumes", detail="the account's default for EBS could not be read")
        return
    if key.endswith(AWS_KEY):
        yield PreflightCheck(name="key of volumes", detail="the account encrypts all volumes with AWS's own key")
        return
    detail = (
        f"the account encrypts the root and data volumes of all nodes with {key}; unless its key policy lets EMR's"
        " service role use it and create grants, the nodes end with Client.InternalError. With"
        " `security: {local_disks: true}`, they use the key of this environment"
    )
    yield PreflightCheck(name="key of volumes", detail=detail)


def _quota(aws: Aws, service: str, code: str) -> float | None:
    """Return the quota; None where it cannot be read, which does not mean that nodes cannot be launched."""
    try:
        return float(aws.quotas.get_service_quota(ServiceCode=service, QuotaCode=code)["Quota"]["Value"])
    except ClientError:
        return None


ACCOUNT_CHECKS = (
    _credentials,
    _command_line,
    _bootstrapped,
    _stacks,
    _records,
    _offered,
    _quotas,
    _linked_roles,
    _volume_key,
)
"""Every check, in order."""
