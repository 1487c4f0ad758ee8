"""The two roles of a cluster: what EMR may do for us, and what the nodes may do themselves."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from environments.environment import Environment
from stacks.acknowledged import acknowledge, acknowledge_objects
from stacks.storage import StorageStack

__all__ = ["Roles"]

# EMR Management Guide, emr-iam-role-for-ec2: what HBase on S3 needs of the root; nothing creates or deletes buckets.
ROOT_OBJECT_ACTIONS = (
    "s3:AbortMultipartUpload",
    "s3:DeleteObject",
    "s3:GetObject",
    "s3:GetObjectTagging",
    "s3:GetObjectVersion",
    "s3:ListMultipartUploadParts",
    "s3:PutObject",
    "s3:PutObjectTagging",
)
# The claim is read and written, never deleted: a user may, when nobody else knows who writes.
CLAIM_ACTIONS = ("s3:GetObject", "s3:PutObject")
ROOT_BUCKET_ACTIONS = (
    "s3:GetBucketLocation",
    "s3:GetBucketVersioning",
    "s3:ListBucket",
    "s3:ListBucketMultipartUploads",
    "s3:ListBucketVersions",
)
KEY_ACTIONS = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
EVERY_CLUSTER = "IAM5[Resource::arn:<AWS::Partition>:elasticmapreduce:<AWS::Region>:<AWS::AccountId>:cluster/*]"
METRIC_NAMESPACES = ("CWAgent", "warmbase")


class Roles(Construct):
    """`service` for EMR, `nodes` with its instance profile of the same name, which EMR asks for."""

    def __init__(self, scope: Construct, environment: Environment, storage: StorageStack, name: str) -> None:
        super().__init__(scope, "Roles")
        self.nodes = self._nodes(environment, storage, name)
        self.profile = iam.CfnInstanceProfile(self, "Profile", roles=[self.nodes.role_name], instance_profile_name=name)
        self.service = self._service(storage)

    def _nodes(self, environment: Environment, storage: StorageStack, name: str) -> iam.Role:
        role = iam.Role(
            self,
            "Node",
            role_name=name,
            description="Nodes of a warmbase cluster: the HBase root, logs, metrics, Session Manager",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name("AmazonSSMManagedInstanceCore")],
        )
        root = environment.root
        # In Fn::Sub only `${` begins a name: a dollar of a folder's mark stays as it is.
        root_objects = [f"{root.bucket}/{key}" for key in root.objects]
        log_objects = f"{environment.log_bucket}/emr/*"
        allow(role, ROOT_OBJECT_ACTIONS, *(bucket_arn(each) for each in root_objects))
        allow(role, CLAIM_ACTIONS, bucket_arn(f"{root.bucket}/{root.claim_key}"))
        # Whether the cluster that holds the claim is gone.
        allow(role, ["elasticmapreduce:DescribeCluster"], clusters_arn())
        allow(role, ROOT_BUCKET_ACTIONS, bucket_arn(root.bucket))
        allow(role, ["s3:PutObject"], bucket_arn(log_objects))
        # Of the root and of the disks: one key, or two where the bucket was there before.
        allow(role, KEY_ACTIONS, *dict.fromkeys((storage.key.key_arn, storage.root_key_arn)))
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["cloudwatch:PutMetricData"],
                resources=["*"],
                conditions={"StringEquals": {"cloudwatch:namespace": list(METRIC_NAMESPACES)}},
            )
        )
        acknowledge(role, "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/AmazonSSMManagedInstanceCore]")
        acknowledge(role, "IAM5[Resource::*]", EVERY_CLUSTER)
        acknowledge_objects(role, *(each for each in (*root_objects, log_objects) if each.endswith("*")))
        return role

    def _service(self, storage: StorageStack) -> iam.Role:
        account = {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}}
        role = iam.Role(
            self,
            "Service",
            description="Amazon EMR, for a warmbase cluster",
            assumed_by=iam.ServicePrincipal("elasticmapreduce.amazonaws.com", conditions=account),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name("service-role/AmazonEMRServicePolicy_v2")],
        )
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["iam:PassRole"],
                resources=[self.nodes.role_arn],
                conditions={"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
            )
        )
        allow(role, KEY_ACTIONS, storage.key.key_arn)
        # EBS User Guide, ebs-encryption-requirements: only for the volumes that EC2 attaches.
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["kms:CreateGrant"],
                resources=[storage.key.key_arn],
                conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
            )
        )
        acknowledge(role, "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonEMRServicePolicy_v2]")
        return role


def bucket_arn(bucket_or_objects: str) -> str:
    """The ARN of a bucket, or of the objects that a pattern in it names."""
    return cdk.Fn.sub(f"arn:${{AWS::Partition}}:s3:::{bucket_or_objects}")


def clusters_arn() -> str:
    """The ARN of every EMR cluster of this account and region: whose claim it is, nobody knows before."""
    return cdk.Fn.sub("arn:${AWS::Partition}:elasticmapreduce:${AWS::Region}:${AWS::AccountId}:cluster/*")


def allow(role: iam.Role, actions: Sequence[str], *resources: str) -> None:
    """Lets a role do these things to these resources."""
    role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=list(resources)))
