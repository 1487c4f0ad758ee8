"""Checks that run before a deployment: each finds a problem that would make it fail later, or lose data.

The account must be ready: credentials, CDK bootstrap, stacks, records, instance types, quotas. The VPC, subnet, route
table and security groups that a file names must exist, and the subnet and its VPC must have the form that EMR and the
nodes need. The bucket of the HBase root must exist where it should, and no other cluster may write there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from warmbase.configurations.launch import Launch
from warmbase.configurations.node_files import site_properties
from warmbase.emr.cluster_state import has_ended, is_running
from warmbase.environments.environment import EMR_TAG, Environment, Wal
from warmbase.environments.launch_record import LaunchRecord
from warmbase.environments.names import stacks_around, storage_stack
from warmbase.environments.reader.document import YamlPath, load_document, path_text
from warmbase.facts.ec2 import instance_types
from warmbase.ground.errors import Problem, Refused
from warmbase.operations.aws.clients import Aws, bucket_name, filtered
from warmbase.operations.aws.errors import error_code, suppress_codes, translated
from warmbase.operations.cluster.claims import (
    ACTIVE,
    NOBODY,
    active_elsewhere,
    claim_of,
    writers,
    written_since_release,
)
from warmbase.operations.cluster.description import cluster_id
from warmbase.operations.cluster.failed_launch import STUCK, find_failed_launches, way_out
from warmbase.operations.cluster.stack import state_of, status_of, unknown_cluster
from warmbase.operations.deploy.cdk import cdk_command, cdk_installation, cdk_version


class PreflightCheck(Struct, frozen=True):
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
QUOTAS: Final[Mapping[str, tuple[str, str, str]]] = {
    "vCPU quota": ("ec2", "L-1216C47A", "vCPUs"),
    "gp3 quota": ("ebs", "L-7A658B76", "TiB"),
}
"""Service Quotas: Running On-Demand Standard instances; Storage for General Purpose SSD (gp3) volumes, in TiB."""
STANDARD: Final = re.compile(r"[acdhimrtz]\d")
"""The families that the first quota counts: A, C, D, H, I, M, R, T and Z."""
WAL_ROLE: Final = "AWSServiceRoleForEMRWAL"
LINKED_ROLES: Final = {
    "AWSServiceRoleForEMRCleanup": "elasticmapreduce.amazonaws.com",
    WAL_ROLE: "emrwal.amazonaws.com",
}
"""EMR Management Guide, using-service-linked-roles-cleanup and -wal: EMR creates them at the first launch."""
AWS_KEY: Final = "alias/aws/ebs"
DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})


def _credentials(context: PreflightContext) -> Iterator[PreflightCheck]:
    yield PreflightCheck("credentials", f"account {context.aws.account}, {context.environment.region}")


def _command_line(_: PreflightContext) -> Iterator[PreflightCheck]:
    """Check that the CDK command line has the version that reads the assemblies which the library writes."""
    name, program, want, fix = "CDK command line", cdk_command(), cdk_version(), cdk_installation()
    if program is None:
        yield PreflightCheck(name, "none", "there is no `cdk`", fix)
        return
    # The command is a link to bin/cdk of its package.
    package = program.resolve().parents[1] / "package.json"
    have = str(json.loads(package.read_text(encoding="utf-8"))["version"])
    problem = (f"{want} is the version of this release of warmbase", fix) if have != want else ()
    yield PreflightCheck(name, have, *problem)


def _bootstrap(context: PreflightContext) -> Iterator[PreflightCheck]:
    version = None
    with suppress_codes():
        version = context.aws.ssm.get_parameter(Name=BOOTSTRAP)["Parameter"]["Value"]
    if version is not None:
        yield PreflightCheck("cdk bootstrap", f"version {version}")
        return
    command = f"npx cdk bootstrap aws://{context.aws.account}/{context.environment.region}"
    yield PreflightCheck(
        "cdk bootstrap",
        "none",
        problem="this account and region have no CDK bucket for templates and bootstrap files yet",
        fix=f"run once, with an administrator's credentials: {command}",
    )


def _stacks(context: PreflightContext) -> Iterator[PreflightCheck]:
    failed = find_failed_launches(context.aws, context.environment)
    for launch in failed:
        fix = f"`warmbase deploy {context.environment.argument}` asks, ends it, and launches again"
        yield PreflightCheck(launch.stack, launch.stack_status, launch.text, fix)
    for cluster_name in context.environment.cluster_names:
        for stack in stacks_around(context.environment.name, cluster_name):
            status = status_of(context.aws, stack)
            if status is not None and status in STUCK and stack not in {launch.stack for launch in failed}:
                means, way = way_out(context.aws, stack, status)
                yield PreflightCheck(stack, status, means, f"{way}; the events of the stack say why")


def _records(context: PreflightContext) -> Iterator[PreflightCheck]:
    for cluster_name, record in context.records.items():
        state = state_of(context.aws, record.cluster_id)
        problem = fix = ""
        if state is None and not has_ended(state, record.launched_at):
            unknown = unknown_cluster(context.aws, f"cluster {record.cluster_id}", record.launched_at)
            problem, fix = f"it {unknown.what}; {unknown.why}", unknown.fix
        elif not is_running(state):
            problem = (
                f"{record.directory} records a cluster that is no longer running; while it exists, a"
                " deployment launches no other"
            )
            fix = f"remove what is left of it: warmbase teardown {context.environment.argument} {cluster_name}"
        detail = f"{record.cluster_id}, {state or 'unknown to EMR'}"
        yield PreflightCheck(f"cluster {cluster_name}", detail, problem, fix)


def _instance_types(context: PreflightContext) -> Iterator[PreflightCheck]:
    zone = context.environment.network.availability_zone
    groups = [group for launch in context.new.values() for group in (launch.plan.primary, launch.plan.core)]
    types = sorted({group.instance_type for group in groups})
    if not types:
        return
    pages: Any = context.aws.ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone",
        Filters=[{"Name": "location", "Values": [zone]}, {"Name": "instance-type", "Values": types}],
    )
    offered = {offering["InstanceType"] for page in pages for offering in page["InstanceTypeOfferings"]}
    missing = [name for name in types if name not in offered]
    if missing:
        problem = f"{zone} does not offer {', '.join(missing)}"
        fix = "name another availability_zone in `network`, or limit `core: {families: […]}` to what it offers"
        yield PreflightCheck("instance types", ", ".join(types), problem, fix)
    else:
        yield PreflightCheck("instance types", f"{', '.join(types)} in {zone}")


def _quotas(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check the account's quotas against the nodes of the new clusters, without what else is running in it."""
    vcpus, gib = 0, 0
    for launch in context.new.values():
        for group in (launch.plan.primary, launch.plan.core):
            if STANDARD.match(group.instance_type):
                vcpus += group.count * instance_types()[group.instance_type].vcpus
            gib += group.count * sum(volume.count * volume.size_gib for volume in group.volumes if volume.type == "gp3")
    for needed, (name, (service, code, unit)) in zip((float(vcpus), gib / 1024), QUOTAS.items(), strict=True):
        if not needed:
            continue
        limit = None
        # A quota that cannot be read does not mean that nodes cannot be launched.
        with suppress(ClientError):
            limit = float(context.aws.quotas.get_service_quota(ServiceCode=service, QuotaCode=code)["Quota"]["Value"])
        if limit is None:
            yield PreflightCheck(name, f"{needed:,.3g} {unit} needed; the quota could not be read")
            continue
        detail = f"{needed:,.3g} of {limit:,.0f} {unit}, not counting what else is running"
        if needed > limit:
            command = f"request-service-quota-increase --service-code {service} --quota-code {code}"
            fix = f"request an increase: aws service-quotas {command}"
            yield PreflightCheck(name, detail, "the quota is too small for this cluster alone", fix)
        else:
            yield PreflightCheck(name, detail)


def _linked_roles(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Warn if the launch must create a role of EMR's, for which it may lack the permission."""
    for name, service in LINKED_ROLES.items():
        if not context.new or (name == WAL_ROLE and context.environment.wal is not Wal.EMR_WAL):
            continue
        detail = "exists"
        try:
            context.aws.iam.get_role(RoleName=name)
        except ClientError as error:
            if error_code(error) == "NoSuchEntity":
                command = f"aws iam create-service-linked-role --aws-service-name {service}"
                detail = (
                    f"does not exist; the launch needs iam:CreateServiceLinkedRole for it, or run this once: {command}"
                )
            elif error_code(error) in DENIED:
                detail = "could not be read; if it does not exist, the launch creates it"
            else:
                raise
        yield PreflightCheck(f"role {name}", detail)


def _volume_key(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Warn of an account that encrypts each new volume with a key that EMR's service role may not use.

    With `security: {local_disks: true}`, EMR asks for each volume, the root volume too, to be encrypted with the key of
    the environment, and the account's default does not matter.
    """
    if not context.new or context.environment.encrypt_local_disks:
        return
    detail = "the account's default for EBS could not be read"
    with suppress_codes(DENIED):
        if not context.aws.ec2.get_ebs_encryption_by_default()["EbsEncryptionByDefault"]:
            return
        key = context.aws.ec2.get_ebs_default_kms_key_id()["KmsKeyId"]
        detail = (
            "the account encrypts all volumes with AWS's own key"
            if key.endswith(AWS_KEY)
            else f"the account encrypts the root and data volumes of all nodes with {key}; unless its key policy lets"
            " EMR's service role use it and create grants, the nodes end with Client.InternalError. With"
            " `security: {local_disks: true}`, they use the key of this environment"
        )
    yield PreflightCheck("key of volumes", detail)


def _root(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check that an existing bucket belongs to the expected account and is in this region."""
    root = context.environment.root
    if not context.environment.mode.keeps_data_in_s3 or not root.existing:
        return
    bucket = root.bucket_in(context.aws.account)
    name = bucket_name(context.aws.s3, bucket)
    check = partial(PreflightCheck, "root bucket")
    if not name.exists:
        yield check(bucket, "it does not exist", "create the bucket, or correct storage.root")
    elif name.region is None:
        yield check(
            bucket,
            problem=f"it does not belong to account {root.owner_in(context.aws.account)}, or you may not list it",
            fix="correct storage.root, or ask for s3:ListBucket; if it belongs to another account that you trust, name"
            " that account: `storage: {owner: ...}`",
        )
    elif name.region != context.environment.region:
        fix = "HBase on EMR needs its root in the region of the cluster"
        yield check(f"{bucket} in {name.region}", "the bucket is in another region", fix)
    else:
        yield check(f"{bucket}, an existing bucket")


def _new_buckets(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check that the names of new buckets are free, or of buckets that this environment's stack created here."""
    environment, account = context.environment, context.aws.account
    has_stack = status_of(context.aws, storage_stack(environment.name)) is not None
    buckets = {"log bucket": environment.in_account(environment.log_bucket, account)}
    if environment.mode.keeps_data_in_s3 and not environment.root.existing:
        buckets["root bucket"] = environment.root.bucket_in(account)
    for purpose, bucket in buckets.items():
        name = bucket_name(context.aws.s3, bucket)
        if name.exists and name.region is None:
            yield PreflightCheck(
                purpose,
                bucket,
                problem=f"the bucket does not belong to account {account}, or you may not list it",
                fix="do not use it: whoever owns it could read and change your data; choose another `name:` for the"
                " environment",
            )
        elif name.exists and not has_stack:
            use = f"to use the bucket, write `storage: {{root: s3://{bucket}/{environment.root.prefix}/}}`"
            delete = "if you need none of these logs, delete the bucket"
            yield PreflightCheck(
                purpose,
                bucket,
                problem="the bucket already exists in your account, and no stack of this environment created it: it may"
                " hold data",
                fix=f"{use if purpose == 'root bucket' else delete}; otherwise choose another `name:` in the file",
            )


def _one_writer(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check that no other cluster writes to the root.

    EMR knows the clusters of other tools, which claim nothing, and the claim knows the clusters of other accounts.
    """
    aws, environment = context.aws, context.environment
    root, active = environment.root, environment.active.name
    if not environment.mode.keeps_data_in_s3 or active not in context.launches:
        return
    own = None
    if active in context.records:
        own = context.records[active].cluster_id
    else:
        # An earlier run may have launched a cluster without writing its record.
        with suppress_codes():
            own = cluster_id(aws, environment.name, active)
    others = list(writers(aws, root, own))
    if others:
        yield PreflightCheck(
            "other writers",
            "; ".join(others),
            problem="they write to this root, or to one that overlaps with it: two writers corrupt it",
            fix="terminate them first, or give this environment another root",
        )
    bucket, check = root.bucket_in(aws.account), partial(PreflightCheck, "claim of the root")
    if bucket_name(aws.s3, bucket).region is None:
        yield check("none: the bucket does not exist yet")
        return
    claim, take = claim_of(aws, root), f"warmbase claim {context.environment.argument} --take"
    if claim is None:
        has_data = False
        if own is None:
            # HBase writes its id first; claim_root.py checks the same object.
            with suppress_codes():
                aws.s3.get_object(Bucket=bucket, Key=f"{root.prefix}/hbase.id")
                has_data = True
        if has_data:
            yield check(
                "no cluster has claimed the root, but HBase has written to it",
                problem="another cluster may still write there; the new cluster would end as soon as it starts",
                fix=f"once no cluster writes there any more, confirm that: {take}",
            )
        else:
            yield check("no cluster has claimed it")
    elif claim.holds and claim.cluster != own:
        yield check(
            f"{claim.cluster}, which is {claim.state or 'unknown to EMR here'}",
            problem="another cluster writes to this root; the new cluster would end as soon as it starts",
            fix=f"terminate {claim.cluster} first; if it is this environment's own cluster, record it: warmbase pin",
        )
    else:
        yield check("released" if claim.cluster == NOBODY else f"{claim.cluster}, {claim.state or 'unknown to EMR'}")
    if own is not None:
        return
    # A cluster may write without a claim, and EMR may not list it here. Its traces show only while ours is absent.
    site = site_properties(context.launches[active].settings.effective("core"))
    if other := active_elsewhere(aws, root, site.get("hbase.meta.table.suffix", "")):
        yield PreflightCheck(
            "active cluster of HBase",
            other,
            problem=f"{root.url}{ACTIVE} says that this cluster may write to the root, and no other",
            fix="stop that cluster, or make it a replica; once it has stopped, delete the file",
        )
    if claim is not None and claim.cluster == NOBODY and (last := written_since_release(aws, root)):
        yield PreflightCheck(
            "writes without a claim",
            f"{last:%Y-%m-%d %H:%M} UTC",
            problem="HBase has written to the root after the claim was released: another cluster may still write there",
            fix=f"find that cluster; once no cluster writes there any more, confirm that: {take}",
        )


UNKNOWN_ID: Final = ".NotFound"
"""EC2's codes for an unknown id end so: InvalidSubnetID.NotFound."""
DESCRIBE: Final[Mapping[str, Callable[[Aws, str], Any]]] = {
    "VPC": lambda aws, identity: aws.ec2.describe_vpc_attribute(VpcId=identity, Attribute="enableDnsSupport"),
    "subnet": lambda aws, identity: aws.ec2.describe_subnets(SubnetIds=[identity]),
    "route table": lambda aws, identity: aws.ec2.describe_route_tables(RouteTableIds=[identity]),
    "security group": lambda aws, identity: aws.ec2.describe_security_groups(GroupIds=[identity]),
}
"""The call that fails for an id that EC2 does not know, by the kind of the resource."""


def _network(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check the network of clusters that are not launched yet: first that it exists, then what it offers."""
    if context.new:
        missing = list(_missing_resources(context))
        yield from missing or (*_subnet(context), *_vpc(context))


def _missing_resources(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Yield a check for each resource of an existing network that is not in this account and region."""
    environment = context.environment
    network, source = environment.network, Path(environment.source)
    named: list[tuple[str, YamlPath, str | None]] = [
        ("VPC", ("network", "vpc"), network.vpc),
        ("subnet", ("network", "subnet"), network.subnet),
        ("route table", ("network", "route_table"), network.route_table),
    ]
    for number, group in enumerate(environment.access.security_groups):
        named.append(("security group", ("access", "security_groups", number), group))
    for kind, path, identity in named:
        if identity is None:
            continue
        try:
            DESCRIBE[kind](context.aws, identity)
        except ClientError as error:
            if not error_code(error).endswith(UNKNOWN_ID):
                raise
            line = load_document(source, environment.source).where(path).rpartition(":")[2]
            problem = f"there is no {kind} {identity} in {environment.region} of account {context.aws.account}"
            yield PreflightCheck(kind, identity, problem, f"correct {path_text(path)} (line {line} of {source.name})")


def _subnet(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check an existing subnet: its VPC, its zone, its free addresses, and the tag that EMR's service role requires."""
    network = context.environment.network
    if network.subnet is None:
        return
    [subnet] = context.aws.ec2.describe_subnets(SubnetIds=[network.subnet])["Subnets"]
    tags = {tag["Key"]: tag["Value"] for tag in subnet.get("Tags", [])}
    nodes = sum(launch.plan.core.count + launch.plan.primary.count for launch in context.new.values())
    conditions = [
        (subnet["VpcId"] != network.vpc, f"the subnet is in {subnet['VpcId']}, not {network.vpc}", "name its own VPC"),
        (
            subnet["AvailabilityZone"] != network.availability_zone,
            f"the subnet is not in {network.availability_zone}",
            "set availability_zone to the subnet's zone",
        ),
        (
            tags.get(EMR_TAG) != "true",
            f"the subnet lacks the tag {EMR_TAG}=true, without which EMR cannot start nodes in it",
            f"aws ec2 create-tags --resources {network.subnet} --tags Key={EMR_TAG},Value=true",
        ),
        (
            subnet["AvailableIpAddressCount"] < nodes,
            f"{nodes} nodes need one free address each",
            "name a subnet with more free addresses",
        ),
    ]
    detail = f"{network.subnet} in {subnet['AvailabilityZone']}, {subnet['AvailableIpAddressCount']} free addresses"
    problems = [(problem, fix) for is_violated, problem, fix in conditions if is_violated]
    for problem, fix in problems or [("", "")]:
        yield PreflightCheck("subnet", detail, problem, fix)


def _vpc(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check an existing VPC: its DNS, and its routes to S3 and to the services that nodes call."""
    network = context.environment.network
    if network.vpc is None:
        return
    for attribute, flag in (("enableDnsSupport", "dns-support"), ("enableDnsHostnames", "dns-hostnames")):
        kind: Any = attribute
        response: Any = context.aws.ec2.describe_vpc_attribute(VpcId=network.vpc, Attribute=kind)
        if not response[attribute[0].upper() + attribute[1:]]["Value"]:
            fix = f"aws ec2 modify-vpc-attribute --vpc-id {network.vpc} --enable-{flag}"
            yield PreflightCheck("VPC", network.vpc, f"{attribute} is off, but nodes find each other by name", fix)
    paginator = context.aws.ec2.get_paginator("describe_vpc_endpoints")
    endpoints = filtered(paginator, "VpcEndpoints", "vpc-id", [network.vpc])
    services = {endpoint["ServiceName"].rpartition(".")[2] for endpoint in endpoints}
    tables = filtered(context.aws.ec2.get_paginator("describe_route_tables"), "RouteTables", "vpc-id", [network.vpc])
    has_gateway = any(
        route.get("DestinationCidrBlock") == "0.0.0.0/0" and "NatGatewayId" in route
        for table in tables
        for route in table["Routes"]
    )
    wanted = {"elasticmapreduce", "kms", "monitoring"} | ({"s3"} if network.route_table is None else set())
    missing = sorted(wanted - services)
    detail = f"endpoints: {', '.join(sorted(services)) or 'none'}"
    if missing and not has_gateway:
        fix = "create these endpoints in the VPC, or route the subnet through a NAT gateway"
        yield PreflightCheck("VPC", f"{detail}; no NAT gateway", f"nodes cannot reach {', '.join(missing)}", fix)
    else:
        yield PreflightCheck("VPC", f"{detail}{', a NAT gateway' if has_gateway else ''}")


ROOT_CHECKS: Final = (_root, _new_buckets, _one_writer)
CHECKS: Final = (
    _credentials,
    _command_line,
    _bootstrap,
    _stacks,
    _records,
    _instance_types,
    _quotas,
    _linked_roles,
    _volume_key,
    *ROOT_CHECKS,
    _network,
)
"""Every check, in order."""


def preflight(
    aws: Aws,
    environment: Environment,
    launches: Mapping[str, Launch],
    records: Mapping[str, LaunchRecord],
) -> Iterator[PreflightCheck]:
    """Yield each check when it is complete. Raises OperationFailed where AWS does not answer."""
    context = PreflightContext(aws=aws, environment=environment, launches=launches, records=records)
    for check in CHECKS:
        with translated(f"could not check whether {environment.name} can be deployed", "run the same command again"):
            yield from check(context)


def refuse_unready(checks: Iterable[PreflightCheck]) -> None:
    """Refuse to continue where a check has a problem: raises Refused with all of them."""
    bad = [check for check in checks if check.problem]
    if bad:
        raise Refused(Problem(where=check.name, what=check.detail, why=check.problem, fix=check.fix) for check in bad)
