"""Checks that run before a deployment: each finds a problem that would make it fail later, or lose data.

The VPC, subnet, route table and security groups that a file names must exist, and the subnet and its VPC must have the
form that EMR and the nodes need. The bucket of the HBase root must exist where it should, and no other cluster may
write there. Checks of the account are in `preflight_account.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError

from warmbase.configurations.launch import Launch
from warmbase.configurations.node_files import site_properties
from warmbase.environments.environment import EMR_TAG, Environment, Root
from warmbase.environments.launch_record import LaunchRecord
from warmbase.environments.names import storage_stack
from warmbase.environments.reader.document import YamlPath, load_document, path_text
from warmbase.ground.errors import Problem, Refused
from warmbase.operations.aws.clients import Aws, bucket_name
from warmbase.operations.aws.errors import MISSING, error_code, translated
from warmbase.operations.cluster.claims import (
    ACTIVE,
    NOBODY,
    active_elsewhere,
    claim_of,
    writers,
    written_since_release,
)
from warmbase.operations.cluster.description import cluster_id
from warmbase.operations.cluster.stack import status_of
from warmbase.operations.deploy.preflight_account import ACCOUNT_CHECKS, PreflightCheck, PreflightContext

UNKNOWN_ID: Final = ".NotFound"
"""EC2's codes for an unknown id end so: InvalidSubnetID.NotFound."""
DESCRIBE: Final[Mapping[str, Callable[[Aws, str], Any]]] = {
    "VPC": lambda aws, identity: aws.ec2.describe_vpc_attribute(VpcId=identity, Attribute="enableDnsSupport"),
    "subnet": lambda aws, identity: aws.ec2.describe_subnets(SubnetIds=[identity]),
    "route table": lambda aws, identity: aws.ec2.describe_route_tables(RouteTableIds=[identity]),
    "security group": lambda aws, identity: aws.ec2.describe_security_groups(GroupIds=[identity]),
}
"""The call that fails for an id that EC2 does not know, by the kind of the resource."""


def missing_resources(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Yield a check for each resource of an existing network that is not in this account and region."""
    environment = context.environment
    for kind, path, identity in _named(context):
        try:
            DESCRIBE[kind](context.aws, identity)
        except ClientError as error:
            if not error_code(error).endswith(UNKNOWN_ID):
                raise
            place = f"{environment.region} of account {context.aws.account}"
            source = Path(environment.source)
            line = load_document(source, environment.source).where(path).rpartition(":")[2]
            yield PreflightCheck(
                name=kind,
                detail=identity,
                problem=f"there is no {kind} {identity} in {place}",
                fix=f"correct {path_text(path)} (line {line} of {source.name})",
            )


def _named(context: PreflightContext) -> Iterator[tuple[str, YamlPath, str]]:
    """Yield the kind of each resource that the file names, its place in the file, and its id."""
    network, access = context.environment.network, context.environment.access
    ids = {"VPC": ("vpc", network.vpc), "subnet": ("subnet", network.subnet)}
    ids["route table"] = ("route_table", network.route_table)
    for kind, (key, identity) in ids.items():
        if identity is not None:
            yield kind, ("network", key), identity
    for number, group in enumerate(access.security_groups):
        yield "security group", ("access", "security_groups", number), group


def _subnet(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check an existing subnet: its VPC, its zone, its free addresses, and the tag that EMR's service role requires."""
    network = context.environment.network
    if network.subnet is None:
        return
    [subnet] = context.aws.ec2.describe_subnets(SubnetIds=[network.subnet])["Subnets"]
    tags = {tag["Key"]: tag["Value"] for tag in subnet.get("Tags", [])}
    detail = f"{network.subnet} in {subnet['AvailabilityZone']}, {subnet['AvailableIpAddressCount']} free addresses"
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
    problems = [(problem, fix) for is_violated, problem, fix in conditions if is_violated]
    if not problems:
        yield PreflightCheck(name="subnet", detail=detail)
    for problem, fix in problems:
        yield PreflightCheck(name="subnet", detail=detail, problem=problem, fix=fix)


def _vpc(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check an existing VPC: its DNS, and its routes to S3 and to the services that nodes call."""
    network = context.environment.network
    if network.vpc is None:
        return
    for attribute in ("enableDnsSupport", "enableDnsHostnames"):
        kind: Any = attribute
        response: Any = context.aws.ec2.describe_vpc_attribute(VpcId=network.vpc, Attribute=kind)
        name = attribute[0].upper() + attribute[1:]
        if not response[name]["Value"]:
            flag = "--enable-dns-support" if attribute == "enableDnsSupport" else "--enable-dns-hostnames"
            fix = f"aws ec2 modify-vpc-attribute --vpc-id {network.vpc} {flag}"
            yield PreflightCheck(
                name="VPC",
                detail=network.vpc,
                problem=f"{attribute} is off, but nodes find each other by name",
                fix=fix,
            )
    filters: Any = [{"Name": "vpc-id", "Values": [network.vpc]}]
    endpoints = context.aws.ec2.describe_vpc_endpoints(Filters=filters)["VpcEndpoints"]
    services = {endpoint["ServiceName"].rpartition(".")[2] for endpoint in endpoints}
    tables: Any = context.aws.ec2.describe_route_tables(Filters=filters)["RouteTables"]
    outward = any(_leads_out(route) for table in tables for route in table["Routes"])
    wanted = {"elasticmapreduce", "kms", "monitoring"} | ({"s3"} if network.route_table is None else set())
    missing = sorted(wanted - services)
    if missing and not outward:
        yield PreflightCheck(
            name="VPC",
            detail=f"endpoints: {', '.join(sorted(services)) or 'none'}; no NAT gateway",
            problem=f"nodes cannot reach {', '.join(missing)}",
            fix="create these endpoints in the VPC, or route the subnet through a NAT gateway",
        )
        return
    yield PreflightCheck(
        name="VPC", detail=f"endpoints: {', '.join(sorted(services)) or 'none'}{', a NAT gateway' if outward else ''}"
    )


def _leads_out(route: Mapping[str, Any]) -> bool:
    return route.get("DestinationCidrBlock") == "0.0.0.0/0" and "NatGatewayId" in route


def _network(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check the network of clusters that are not launched yet: first that it exists, then what it offers."""
    if context.new:
        missing = list(missing_resources(context))
        yield from missing or (*_subnet(context), *_vpc(context))


NETWORK_CHECKS = (_network,)
"""Every check, in order."""


def _root(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check that an existing bucket belongs to the expected account and is in this region."""
    root = context.environment.root
    if not context.environment.mode.keeps_data_in_s3 or not root.existing:
        return
    bucket = root.bucket_in(context.aws.account)
    name = bucket_name(context.aws.s3, bucket)
    if not name.exists:
        fix = "create the bucket, or correct storage.root"
        yield PreflightCheck(name="root bucket", detail=bucket, problem="it does not exist", fix=fix)
    elif name.region is None:
        owner = root.owner_in(context.aws.account)
        yield PreflightCheck(
            name="root bucket",
            detail=bucket,
            problem=f"it does not belong to account {owner}, or you may not list it",
            fix="correct storage.root, or ask for s3:ListBucket; if it belongs to another account that you trust, name"
            " that account: `storage: {owner: ...}`",
        )
    elif name.region != context.environment.region:
        region = name.region
        fix = "HBase on EMR needs its root in the region of the cluster"
        yield PreflightCheck(
            name="root bucket", detail=f"{bucket} in {region}", problem="the bucket is in another region", fix=fix
        )
    else:
        yield PreflightCheck(name="root bucket", detail=f"{bucket}, an existing bucket")


def _new_buckets(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check that the names of new buckets are free, or of buckets that this environment's stack created here."""
    environment, account = context.environment, context.aws.account
    has_stack = status_of(context.aws, storage_stack(environment.name)) is not None
    buckets = {"log bucket": environment.in_account(environment.log_bucket, account)}
    if environment.mode.keeps_data_in_s3 and not environment.root.existing:
        buckets["root bucket"] = environment.root.bucket_in(account)
    for purpose, bucket in buckets.items():
        name = bucket_name(context.aws.s3, bucket)
        check = partial(PreflightCheck, name=purpose, detail=bucket)
        if name.exists and name.region is None:
            yield check(
                problem=f"the bucket does not belong to account {account}, or you may not list it",
                fix="do not use it: whoever owns it could read and change your data; choose another `name:` for the"
                " environment",
            )
        elif name.exists and not has_stack:
            use = f"to use the bucket, write `storage: {{root: s3://{bucket}/{environment.root.prefix}/}}`"
            delete = "if you need none of these logs, delete the bucket"
            yield check(
                problem="the bucket already exists in your account, and no stack of this environment created it: it may"
                " hold data",
                fix=f"{use if purpose == 'root bucket' else delete}; otherwise choose another `name:` in the file",
            )


def _one_writer(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check that no other cluster writes to the root.

    EMR knows the clusters of other tools, which claim nothing, and the claim knows the clusters of other accounts.
    """
    environment = context.environment
    active = environment.active.name
    if not environment.mode.keeps_data_in_s3 or active not in context.launches:
        return
    own = context.records[active].cluster_id if active in context.records else _unrecorded_cluster_id(context, active)
    others = list(writers(context.aws, environment.root, own))
    if others:
        yield PreflightCheck(
            name="other writers",
            detail="; ".join(others),
            problem="they write to this root, or to one that overlaps with it: two writers corrupt it",
            fix="terminate them first, or give this environment another root",
        )
    yield _claim_check(context, own)
    if own is None:
        yield from _traces(context)


def _claim_check(context: PreflightContext, own: str | None) -> PreflightCheck:
    """Check that no cluster but this environment's own one holds the claim."""
    environment, check = context.environment, partial(PreflightCheck, name="claim of the root")
    if bucket_name(context.aws.s3, environment.root.bucket_in(context.aws.account)).region is None:
        return check(detail="none: the bucket does not exist yet")
    claim = claim_of(context.aws, environment.root)
    if claim is None and own is None and _written_to(context.aws, environment.root):
        take = f"warmbase claim {Path(environment.source).stem} --take"
        return check(
            detail="no cluster has claimed the root, but HBase has written to it",
            problem="another cluster may still write there; the new cluster would end as soon as it starts",
            fix=f"once no cluster writes there any more, confirm that: {take}",
        )
    if claim is None:
        return check(detail="no cluster has claimed it")
    if claim.holds and claim.cluster != own:
        return check(
            detail=f"{claim.cluster}, which is {claim.state or 'unknown to EMR here'}",
            problem="another cluster writes to this root; the new cluster would end as soon as it starts",
            fix=f"terminate {claim.cluster} first; if it is this environment's own cluster, record it: warmbase pin",
        )
    return check(
        detail="released" if claim.cluster == NOBODY else f"{claim.cluster}, {claim.state or 'unknown to EMR'}"
    )


def _traces(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Find a writer that claims nothing and that EMR does not list here; only a root without our cluster shows it."""
    aws, environment = context.aws, context.environment
    root, name = environment.root, environment.active.name
    if bucket_name(aws.s3, root.bucket_in(aws.account)).region is None:
        return
    site = site_properties(context.launches[name].settings.effective("core"))
    if other := active_elsewhere(aws, root, site.get("hbase.meta.table.suffix", "")):
        yield PreflightCheck(
            name="active cluster of HBase",
            detail=other,
            problem=f"{root.url}{ACTIVE} says that this cluster may write to the root, and no other",
            fix="stop that cluster, or make it a replica; once it has stopped, delete the file",
        )
    claim = claim_of(aws, root)
    if claim is not None and claim.cluster == NOBODY and (last := written_since_release(aws, root)):
        take = f"warmbase claim {Path(environment.source).stem} --take"
        yield PreflightCheck(
            name="writes without a claim",
            detail=f"{last:%Y-%m-%d %H:%M} UTC",
            problem="HBase has written to the root after the claim was released: another cluster may still write there",
            fix=f"find that cluster; once no cluster writes there any more, confirm that: {take}",
        )


def _written_to(aws: Aws, root: Root) -> bool:
    """Return whether HBase has written to the root: it writes its id first. claim_root.py checks the same object."""
    try:
        aws.s3.get_object(Bucket=root.bucket_in(aws.account), Key=f"{root.prefix}/hbase.id")
    except ClientError as error:
        if error_code(error) not in MISSING:
            raise
        return False
    return True


def _unrecorded_cluster_id(context: PreflightContext, cluster_name: str) -> str | None:
    """Return the id of a cluster that an earlier run launched without writing its record."""
    try:
        return cluster_id(context.aws, context.environment.name, cluster_name)
    except ClientError as error:
        if error_code(error) not in MISSING:
            raise
        return None


ROOT_CHECKS = (_root, _new_buckets, _one_writer)
"""Every check, in order."""


def preflight(
    aws: Aws,
    environment: Environment,
    launches: Mapping[str, Launch],
    records: Mapping[str, LaunchRecord],
) -> Iterator[PreflightCheck]:
    """Yield each check when it is complete. Raises OperationFailed where AWS does not answer."""
    context = PreflightContext(aws=aws, environment=environment, launches=launches, records=records)
    for check in (*ACCOUNT_CHECKS, *ROOT_CHECKS, *NETWORK_CHECKS):
        with translated(f"could not check whether {environment.name} can be deployed", "run the same command again"):
            yield from check(context)


def refuse_unready(checks: Iterable[PreflightCheck]) -> None:
    """Refuse to continue where a check has a problem: raises Refused with all of them."""
    bad = [check for check in checks if check.problem]
    if bad:
        raise Refused(Problem(where=check.name, what=check.detail, why=check.problem, fix=check.fix) for check in bad)
