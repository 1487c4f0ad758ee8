"""The network: a private subnet in one zone, endpoints but no internet gateway, and the security groups of EMR.

The security groups are ours so that the VPC can be deleted: those that EMR would make stay behind and block it. In an
existing VPC, only they are created, and the way to S3 where a route table is named for it; its other endpoints, its
flow logs and its tags are its owner's.

The endpoints of a new VPC have policies, which say what accounts a node, and whoever is on it, can reach. Without them,
credentials of any account could carry data through an endpoint to any bucket. With them, S3 answers for the buckets of
the environment's own account and for those that EMR and Amazon Linux read, and the other services only to credentials
of that account. The endpoints of an existing VPC get none: other programs may use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from warmbase.engines.engine import ENGINES
from warmbase.environments.environment import Environment, Network, Wal
from warmbase.environments.names import network_stack
from warmbase.stacks.app import environment_stack, tag
from warmbase.stacks.kerberos import KDC_PORT

# judgement: private by RFC 1918, and neither 10.0.0.0/16 nor 172.31.0.0/16, which most VPCs have that one may peer.
CIDR = "10.40.0.0/16"
SUBNET_BITS = 20  # judgement: 4,091 addresses, more than a cluster has nodes; 15 more such subnets fit
HTTPS = 443  # RFC 9110, 4.2.2
# EMR Management Guide, emr-man-sec-groups: private subnets, releases up to 7.x.
SERVICE_TO_NODES = 8443
PRIMARY_TO_SERVICE = 9443
# Defaults in HBase 2.6's hbase-default.xml: hbase.zookeeper.property.clientPort, hbase.master.port,
# hbase.regionserver.port.
CLIENT_PORTS = {"ZooKeeper": 2181, "HBase master": 16000, "HBase RegionServer": 16020}
INTERFACE_ENDPOINTS: Mapping[str, ec2.IInterfaceVpcEndpointService] = {
    "Metrics": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_MONITORING,
    "Emr": ec2.InterfaceVpcEndpointAwsService.EMR,
    "Keys": ec2.InterfaceVpcEndpointAwsService.KMS,
    "SessionManager": ec2.InterfaceVpcEndpointAwsService.SSM,
    "SessionMessages": ec2.InterfaceVpcEndpointAwsService.SSM_MESSAGES,
}
CATALOG_ENDPOINT: Mapping[str, ec2.IInterfaceVpcEndpointService] = {"Catalog": ec2.InterfaceVpcEndpointAwsService.GLUE}
# EMR Release Guide, emr-hbase-wal-privatelink: com.amazonaws.REGION.emrwal.prod.
WAL_ENDPOINT: Mapping[str, ec2.IInterfaceVpcEndpointService] = {
    "WriteAheadLog": ec2.InterfaceVpcEndpointAwsService.EMR_WAL
}


class SecurityGroups(Construct):
    """Primary, core and service access, with the rules that EMR would add to them itself."""

    def __init__(self, scope: Construct, vpc: ec2.IVpc, environment: Environment) -> None:
        super().__init__(scope, "SecurityGroups")
        self.primary = self._group("Primary", vpc, "primary nodes")
        self.core = self._group("Core", vpc, "core nodes")
        self.service = self._group("Service", vpc, "EMR service access", open_outward=False)
        self.clients = self._group("Clients", vpc, "clients of HBase")
        for group in (self.primary, self.core):
            for peer in (self.primary, self.core):
                for protocol in (ec2.Port.all_tcp(), ec2.Port.all_udp(), ec2.Port.all_icmp()):
                    group.add_ingress_rule(peer, protocol, "nodes of the cluster")
        for group in (self.primary, self.core):
            group.add_ingress_rule(self.service, ec2.Port.tcp(SERVICE_TO_NODES), "EMR service")
            self.service.add_egress_rule(group, ec2.Port.tcp(SERVICE_TO_NODES), "EMR service to nodes")
        self.service.add_ingress_rule(self.primary, ec2.Port.tcp(PRIMARY_TO_SERVICE), "primary to EMR service")
        self._clients(environment)

    def _group(self, name: str, vpc: ec2.IVpc, what: str, *, open_outward: bool = True) -> ec2.SecurityGroup:
        return ec2.SecurityGroup(self, name, vpc=vpc, description=f"warmbase {what}", allow_all_outbound=open_outward)

    def _clients(self, environment: Environment) -> None:
        peers: list[ec2.IPeer] = [ec2.Peer.ipv4(cidr) for cidr in environment.access.cidrs]
        peers += [ec2.Peer.security_group_id(group) for group in environment.access.security_groups]
        peers.append(self.clients)
        for peer in peers:
            # The admin server of the KDC on the primary node stays closed, as do Thrift and REST.
            if environment.kerberos is not None and environment.kerberos.kdc is None:
                for protocol in (ec2.Port.tcp(KDC_PORT), ec2.Port.udp(KDC_PORT)):
                    self.primary.add_ingress_rule(peer, protocol, "clients to KDC")
            for engine_name in sorted({environment.engine(cluster) for cluster in environment.analytics}):
                for server, port in ENGINES[engine_name].client_ports.items():
                    self.primary.add_ingress_rule(peer, ec2.Port.tcp(port), f"clients to {server}")
            for name, port in CLIENT_PORTS.items():
                for group in (self.primary, self.core):
                    group.add_ingress_rule(peer, ec2.Port.tcp(port), f"clients to {name}")


class NetworkStack(cdk.Stack):
    """VPC, subnet, endpoints and security groups of one environment; or the groups alone, in a VPC that is there."""

    def __init__(self, scope: Construct, environment: Environment) -> None:
        self._zone = environment.network.availability_zone
        super().__init__(scope, network_stack(environment.name), env=environment_stack(environment))
        tag(self, environment)
        vpc = self._existing(environment.network) if environment.network.vpc else self._new(environment)
        self.security_groups = SecurityGroups(self, vpc, environment)
        cdk.CfnOutput(
            self,
            "ClientSecurityGroup",
            value=self.security_groups.clients.security_group_id,
            description="A client that has this security group reaches ZooKeeper, master and RegionServers",
        )
        self.subnet = vpc.isolated_subnets[0]
        """The private subnet of the nodes."""

    def _existing(self, network: Network) -> ec2.IVpc:
        """By ids alone: synthesis asks no account."""
        vpc = ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=str(network.vpc),
            availability_zones=[self._zone],
            isolated_subnet_ids=[str(network.subnet)],
            isolated_subnet_route_table_ids=[network.route_table] if network.route_table else None,
        )
        # Nothing is added to the routes of a subnet that has a way to S3 of its own.
        cdk.Annotations.of(vpc).acknowledge_warning("@aws-cdk/aws-ec2:noSubnetRouteTableId")
        if network.route_table:
            vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        return vpc

    def _new(self, environment: Environment) -> ec2.IVpc:
        vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(CIDR),
            availability_zones=[self._zone],
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="private", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=SUBNET_BITS
                )
            ],
            restrict_default_security_group=False,
        )
        # This is for rejected traffic. Without it, CDK would retain a log group, and its records for two years.
        rejected = logs.LogGroup(
            self,
            "Rejected",
            retention=logs.RetentionDays.ONE_MONTH,  # judgement: who looks for a refused connection looks soon
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        vpc.add_flow_log(
            "FlowLog",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(rejected),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )
        to_s3 = vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        services = {
            **INTERFACE_ENDPOINTS,
            **(WAL_ENDPOINT if environment.wal is Wal.EMR_WAL else {}),
            **(CATALOG_ENDPOINT if environment.analytics else {}),
        }
        group = ec2.SecurityGroup(self, "Endpoints", vpc=vpc, description="warmbase interface endpoints")
        group.add_ingress_rule(ec2.Peer.ipv4(CIDR), ec2.Port.tcp(HTTPS), "nodes")
        interfaces = [
            vpc.add_interface_endpoint(name, service=service, security_groups=[group], open=False)
            for name, service in services.items()
        ]
        if environment.network.endpoint_policies:
            for statement in s3_statements(self, environment):
                to_s3.add_to_policy(statement)
            # EMR's write-ahead log supports such a policy, too (EMR Release Guide, emr-hbase-wal-privatelink).
            own = {"aws:PrincipalAccount": [self.account]}
            for endpoint in interfaces:
                endpoint.add_to_policy(_allowed("OwnCredentials", ["*"], ["*"], own))
        return vpc

    @property
    def availability_zones(self) -> list[str]:
        """The file's zone, so that synthesis asks no account for the zones there are."""
        return [self._zone]


PACKAGES: Final = (
    # EMR Management Guide, private-subnet-iampolicy: EMR 7.0.0 and later.
    "al2023-repos-{region}-de612dc2/*",
    "repo.{region}.emr.amazonaws.com/*",
    # EMR Release Guide, emr-hadoop-script: script-runner.jar of steps.
    "{region}.elasticmapreduce/*",
)
"""The objects that AWS publishes for EMR and its operating system, in a region."""
# Systems Manager User Guide, ssm-agent-minimum-s3-permissions: the modules of its documents, and newer agents.
AGENT_FILES: Final = ("aws-ssm-{region}/*", "amazon-ssm-{region}/*")
# EMR Management Guide, private-subnet-iampolicy: where a cluster with logging also writes. The same page's bucket of
# application histories (prod.REGION.appinfo.src) is for Spark, Tez and YARN pages that an HBase cluster does not have.
SYSTEM_LOGS: Final = "aws157-logs-prod-{region}/*"
SYSTEM_LOGS_OF_US_EAST_1: Final = "aws157-logs-prod/*"
REASONS: Final[Mapping[str, str]] = {
    "OwnBuckets": "the root, the logs and the bootstrap files are in buckets of these accounts; what a node may do with"
    " them is in its role",
    "Packages": "EMR and Amazon Linux install packages from these buckets of AWS",
    "AgentFiles": "the agent of Systems Manager reads its documents' modules and its own updates from these buckets of"
    " AWS",
    "SystemLogs": "EMR's agents copy logs of its daemons to this bucket of AWS",
    "Certificates": "EMR unpacks the certificates on each node; the file names this one object, which may belong to"
    " another account",
    "OwnCredentials": "nodes call the service with their role; credentials of any other account are refused, so that"
    " nobody can use them to send data out",
}
"""The reason for each statement, by its Sid."""


def s3_statements(scope: cdk.Stack, environment: Environment) -> Iterator[iam.PolicyStatement]:
    """Yield the statements of the policy of the gateway endpoint for S3."""
    region, owner = environment.region, environment.root.owner
    accounts = [scope.account, *([owner] if owner else [])]
    yield _allowed("OwnBuckets", ["s3:*"], ["*"], {"aws:ResourceAccount": accounts})
    yield _allowed("Packages", ["s3:GetObject"], _objects(PACKAGES, region))
    yield _allowed("AgentFiles", ["s3:GetObject"], _objects(AGENT_FILES, region))
    logs = SYSTEM_LOGS_OF_US_EAST_1 if region == "us-east-1" else SYSTEM_LOGS
    yield _allowed("SystemLogs", ["s3:PutObject"], _objects([logs], region))
    if environment.certificates:
        yield _allowed("Certificates", ["s3:GetObject"], _objects([environment.certificates.removeprefix("s3://")]))


def _allowed(
    sid: str, actions: Sequence[str], resources: Sequence[str], equal: Mapping[str, Sequence[str]] | None = None
) -> iam.PolicyStatement:
    """Return a statement for every principal. Raises KeyError for one without a reason in REASONS."""
    if sid not in REASONS:
        raise KeyError(f"{sid}: a statement needs a reason")
    return iam.PolicyStatement(
        sid=sid,
        actions=list(actions),
        resources=list(resources),
        principals=[iam.AnyPrincipal()],
        conditions={"StringEquals": dict(equal)} if equal else None,
    )


def _objects(patterns: Sequence[str], region: str = "") -> list[str]:
    return [cdk.Fn.sub(f"arn:${{AWS::Partition}}:s3:::{pattern.format(region=region)}") for pattern in patterns]
