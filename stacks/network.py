"""The network: a private subnet in one zone, endpoints but no internet gateway, and the security groups of EMR.

The security groups are ours so that the VPC can be deleted: those that EMR would make stay behind and block it. In a
VPC that was there before they are all that is made, and the way to S3 where a route table is named for it; its other
endpoints, its flow logs and its tags are its owner's.
"""

from __future__ import annotations

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from environments.environment import Environment, Network, Wal
from environments.names import network_stack
from stacks.app import environment_stack, tag
from stacks.endpoint_policies import limit_interface, s3_statements
from stacks.kerberos import KDC_PORT

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
TRINO_PORT = 8889  # EMR Release Guide, emr-trino-deployment-config: http-server.http.port of the coordinator
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
        self._nodes_among_themselves()
        self._service_and_nodes()
        self._clients(environment)

    def _group(self, name: str, vpc: ec2.IVpc, what: str, *, open_outward: bool = True) -> ec2.SecurityGroup:
        return ec2.SecurityGroup(self, name, vpc=vpc, description=f"warmbase {what}", allow_all_outbound=open_outward)

    def _nodes_among_themselves(self) -> None:
        for group in (self.primary, self.core):
            for peer in (self.primary, self.core):
                for protocol in (ec2.Port.all_tcp(), ec2.Port.all_udp(), ec2.Port.all_icmp()):
                    group.add_ingress_rule(peer, protocol, "nodes of the cluster")

    def _service_and_nodes(self) -> None:
        for group in (self.primary, self.core):
            group.add_ingress_rule(self.service, ec2.Port.tcp(SERVICE_TO_NODES), "EMR service")
            self.service.add_egress_rule(group, ec2.Port.tcp(SERVICE_TO_NODES), "EMR service to nodes")
        self.service.add_ingress_rule(self.primary, ec2.Port.tcp(PRIMARY_TO_SERVICE), "primary to EMR service")

    def _clients(self, environment: Environment) -> None:
        peers: list[ec2.IPeer] = [ec2.Peer.ipv4(cidr) for cidr in environment.access.cidrs]
        peers += [ec2.Peer.security_group_id(group) for group in environment.access.security_groups]
        peers.append(self.clients)
        for peer in peers:
            self._kdc(peer, environment)
            if environment.analytics:
                self.primary.add_ingress_rule(peer, ec2.Port.tcp(TRINO_PORT), "clients to Trino coordinator")
            for name, port in CLIENT_PORTS.items():
                for group in (self.primary, self.core):
                    group.add_ingress_rule(peer, ec2.Port.tcp(port), f"clients to {name}")

    def _kdc(self, peer: ec2.IPeer, environment: Environment) -> None:
        """Open the KDC on the primary node to a client. Its admin server stays closed, as Thrift and REST do."""
        if environment.kerberos is not None and environment.kerberos.external is None:
            for port in (ec2.Port.tcp(KDC_PORT), ec2.Port.udp(KDC_PORT)):
                self.primary.add_ingress_rule(peer, port, "clients to KDC")


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
        self._flow_log(vpc)
        to_s3 = vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        services = {
            **INTERFACE_ENDPOINTS,
            **(WAL_ENDPOINT if environment.wal is Wal.EMR_WAL else {}),
            **(CATALOG_ENDPOINT if environment.analytics else {}),
        }
        interfaces = self._interface_endpoints(vpc, services)
        if environment.network.endpoint_policies:
            for statement in s3_statements(self, environment):
                to_s3.add_to_policy(statement)
            for endpoint in interfaces.values():
                limit_interface(self, endpoint)
        return vpc

    def _flow_log(self, vpc: ec2.Vpc) -> None:
        """Rejected traffic. Without a log group of ours CDK would retain one, and its records for two years."""
        group = logs.LogGroup(
            self,
            "Rejected",
            retention=logs.RetentionDays.ONE_MONTH,  # judgement: who looks for a refused connection looks soon
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        vpc.add_flow_log(
            "FlowLog",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(group),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )

    def _interface_endpoints(
        self, vpc: ec2.Vpc, services: Mapping[str, ec2.IInterfaceVpcEndpointService]
    ) -> dict[str, ec2.InterfaceVpcEndpoint]:
        group = ec2.SecurityGroup(self, "Endpoints", vpc=vpc, description="warmbase interface endpoints")
        group.add_ingress_rule(ec2.Peer.ipv4(CIDR), ec2.Port.tcp(HTTPS), "nodes")
        return {
            name: vpc.add_interface_endpoint(name, service=service, security_groups=[group], open=False)
            for name, service in services.items()
        }

    @property
    def availability_zones(self) -> list[str]:
        """The file's zone, so that synthesis asks no account for the zones there are."""
        return [self._zone]
