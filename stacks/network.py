"""The network: private subnets in one zone, endpoints instead of a way out, and the three security groups of EMR.

The security groups are ours so that the VPC can be deleted: those that EMR would make stay behind and block it.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from environments.environment import Environment
from stacks.app import environment_stack, tag

__all__ = ["NetworkStack", "SecurityGroups"]

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
INTERFACE_ENDPOINTS = {
    "Metrics": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_MONITORING,
    "Emr": ec2.InterfaceVpcEndpointAwsService.EMR,
    "Keys": ec2.InterfaceVpcEndpointAwsService.KMS,
    "SessionManager": ec2.InterfaceVpcEndpointAwsService.SSM,
    "SessionMessages": ec2.InterfaceVpcEndpointAwsService.SSM_MESSAGES,
}


class SecurityGroups(Construct):
    """Primary, core and service access, with the rules that EMR would add to them itself."""

    def __init__(self, scope: Construct, vpc: ec2.IVpc, environment: Environment) -> None:
        super().__init__(scope, "SecurityGroups")
        self.primary = self._group("Primary", vpc, "primary nodes")
        self.core = self._group("Core", vpc, "core nodes")
        self.service = self._group("Service", vpc, "EMR service access", open_outward=False)
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
        peers = [ec2.Peer.ipv4(cidr) for cidr in environment.access.cidrs]
        peers += [ec2.Peer.security_group_id(group) for group in environment.access.security_groups]
        for peer in peers:
            for name, port in CLIENT_PORTS.items():
                for group in (self.primary, self.core):
                    group.add_ingress_rule(peer, ec2.Port.tcp(port), f"clients to {name}")


class NetworkStack(cdk.Stack):
    """VPC, subnet, endpoints and security groups of one environment."""

    def __init__(self, scope: Construct, environment: Environment) -> None:
        self._zone = environment.availability_zone
        super().__init__(scope, f"warmbase-{environment.name}-network", env=environment_stack(environment))
        tag(self, environment)
        self.vpc = ec2.Vpc(
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
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
            restrict_default_security_group=False,
        )
        self._flow_log()
        self.security_groups = SecurityGroups(self, self.vpc, environment)
        self._interface_endpoints()

    def _flow_log(self) -> None:
        """Rejected traffic. Without a log group of ours CDK would retain one, and its records for two years."""
        group = logs.LogGroup(
            self,
            "Rejected",
            retention=logs.RetentionDays.ONE_MONTH,  # judgement: who looks for a refused connection looks soon
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        self.vpc.add_flow_log(
            "FlowLog",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(group),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )

    def _interface_endpoints(self) -> None:
        group = ec2.SecurityGroup(self, "Endpoints", vpc=self.vpc, description="warmbase interface endpoints")
        group.add_ingress_rule(ec2.Peer.ipv4(CIDR), ec2.Port.tcp(HTTPS), "nodes")
        for name, service in INTERFACE_ENDPOINTS.items():
            self.vpc.add_interface_endpoint(name, service=service, security_groups=[group], open=False)

    @property
    def availability_zones(self) -> list[str]:
        """The file's zone, so that synthesis asks no account for the zones there are."""
        return [self._zone]

    @property
    def subnet(self) -> ec2.ISubnet:
        """The private subnet of the nodes."""
        return self.vpc.isolated_subnets[0]
