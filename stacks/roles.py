"""The two roles of a cluster: what EMR may do for us, and what the nodes may do themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from environments.environment import Environment, Wal
from environments.root import Root
from stacks.nag_suppressions import suppress, suppress_objects, suppress_workspace
from stacks.storage import UNCONDITIONAL, StorageStack

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
# The hbase:meta of the active cluster; a replica has one of its own, data/hbase/meta_j-…, and reads the two files.
ACTIVE_OBJECTS = ("data/hbase/meta/*", "hbase.id", "hbase.version")
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
# EMR Release Guide, emr-hbase-wal-permissions, but for CreateWorkspace: the storage stack makes it.
WAL_ACTIONS = (
    "emrwal:AppendEdit",
    "emrwal:ArchiveWAL",
    "emrwal:ArchiveWALCheckPoint",
    "emrwal:CompleteWalFlush",
    "emrwal:CreateWal",
    "emrwal:DeleteWal",
    "emrwal:DescribeWAL",
    "emrwal:GetCurrentWalTime",
    "emrwal:ListWALs",
    "emrwal:ReplayEdits",
    "emrwal:TrimWAL",
)
# Systems Manager User Guide, getting-started-create-iam-instance-profile: the least that Session Manager needs. Run
# Command uses the same channels (systems-manager-setting-up-messageAPIs). AmazonSSMManagedInstanceCore would add
# reading every parameter of the account, and what State Manager, Patch Manager and Inventory need.
SESSION_ACTIONS = (
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)
EVERY_INSTANCE = "IAM5[Resource::arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>:instance/*]"
EVERY_CLUSTER = "IAM5[Resource::arn:<AWS::Partition>:elasticmapreduce:<AWS::Region>:<AWS::AccountId>:cluster/*]"
REASONS = {
    "RootObjects": "HBase creates, reads and deletes its files; S3A aborts incomplete uploads; EMR marks directories"
    " with separate objects. Only the prefix of the root is allowed",
    "RootBucket": "S3A lists the prefix, and asks for the bucket's region and versioning",
    "Claim": "a primary node records that its cluster may write to the root; it never deletes a claim",
    "ClaimUnconditional": "a write without a condition could take the root from a cluster that still writes there",
    "ClaimDeletion": "a root without a claim can be claimed by any cluster",
    "ClaimRead": "a node that is no longer in replica mode learns from the claim that another cluster writes",
    "ActiveObjects": "a replica has its own hbase:meta; one that somebody makes a writer by hand must not write the"
    " active cluster's",
    "ClaimHolder": "a primary node asks whether the cluster that holds the claim is running; its id is not known in"
    " advance",
    "Tables": "Trino reads the files of the tables, only below the prefixes that the environment file names",
    "TableLists": "Trino lists the files of a table, only below the prefixes that the environment file names",
    "TableBuckets": "Trino asks for the region of a bucket that holds tables",
    "Root": "an analytics cluster never reads or writes HBase's root, whatever prefixes the environment file names",
    "Catalog": "Trino reads which tables there are, and where their files lie, from the Glue Data Catalog",
    "Logs": "EMR's agent on each node copies its logs there; nothing reads them back",
    "Keys": "EMR encrypts the disks with the environment's key, and HBase the objects of a new root",
    "RootKey": "S3 encrypts the objects of an existing root with the key that the file names; other services and"
    " programs on a node cannot use that key",
    "Metrics": "EMR's agent and our publisher put metrics, only in their two namespaces",
    "SessionChannels": "the agent of Systems Manager lets administrators open a shell and run commands on a node; IAM"
    " defines no resources for these actions",
    "SessionRegistration": "the same agent registers its node; the id of a node is not known in advance",
    "WriteAheadLog": "HBase writes the active cluster's edits to their own workspace; these are the permissions that"
    " the Release Guide lists, without those to create workspaces",
    "Certificates": "EMR unpacks the certificates on each node before it starts anything; the file names this one"
    " object, which may belong to another account",
    "BootstrapFiles": "a node downloads each bootstrap action and its programs, named by the hash of their content",
    "NodeRole": "EMR starts nodes with our role, and its own policy allows only the default role",
    "VolumesBack": "the schedules of a boost restore the cache volumes: only volumes that the boost has tagged",
    "VolumeKey": "EC2 encrypts the volumes with this key, on EMR's behalf",
    "VolumeGrants": "EC2 uses the key only for resources attached to an instance (EBS User Guide,"
    " ebs-encryption-requirements)",
}
"""The reason for each statement, by its Sid."""
METRIC_NAMESPACES = ("CWAgent", "warmbase")


class Roles(Construct):
    """`service` for EMR, `nodes` with its instance profile of the same name, which EMR asks for."""

    def __init__(
        self, scope: Construct, environment: Environment, storage: StorageStack, name: str, *, writes: bool
    ) -> None:
        """`writes` is false for a replica: it appends to no write-ahead log."""
        super().__init__(scope, "Roles")
        self.nodes = self._nodes(environment, storage, name, writes=writes)
        self.profile = iam.CfnInstanceProfile(self, "Profile", roles=[self.nodes.role_name], instance_profile_name=name)
        self.service = self._service(storage)

    def _nodes(self, environment: Environment, storage: StorageStack, name: str, *, writes: bool) -> iam.Role:
        role = iam.Role(
            self,
            "Node",
            role_name=name,
            description="Nodes of a warmbase cluster: the HBase root, logs, metrics, Session Manager",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        )
        allow(role, "SessionChannels", SESSION_ACTIONS, "*")
        allow(role, "SessionRegistration", ["ssm:UpdateInstanceInformation"], resources_arn("ec2", "instance"))
        log_objects = f"{environment.log_bucket}/emr/*"
        if environment.mode.keeps_data_in_s3:
            self._root(role, environment, writes=writes)
        allow(role, "Logs", ["s3:PutObject"], bucket_arn(log_objects), conditions=in_account(role))
        if environment.wal is Wal.EMR_WAL and writes:
            logs = (workspace_arn(f"{environment.wal_workspace}{suffix}") for suffix in ("", "/*"))
            allow(role, "WriteAheadLog", WAL_ACTIONS, *logs)
            suppress_workspace(role, environment.wal_workspace)
        if environment.certificates:
            allow(role, "Certificates", ["s3:GetObject"], bucket_arn(environment.certificates.removeprefix("s3://")))
        allow(role, "Keys", KEY_ACTIONS, storage.key.key_arn)
        if environment.root.key is not None and environment.mode.keeps_data_in_s3:
            through_s3 = {"StringEquals": {"kms:ViaService": f"s3.{environment.region}.amazonaws.com"}}
            allow(role, "RootKey", KEY_ACTIONS, environment.root.key, conditions=through_s3)
        namespaces = {"StringEquals": {"cloudwatch:namespace": list(METRIC_NAMESPACES)}}
        allow(role, "Metrics", ["cloudwatch:PutMetricData"], "*", conditions=namespaces)
        suppress(role, "IAM5[Resource::*]", EVERY_INSTANCE)
        suppress_objects(role, log_objects)
        return role

    def _root(self, role: iam.Role, environment: Environment, *, writes: bool) -> None:
        root = environment.root
        # In Fn::Sub only `${` begins a name: a dollar of a folder's mark stays as it is.
        objects = [f"{root.bucket}/{key}" for key in root.objects]
        owned = in_account(role, root.owner)
        allow(role, "RootObjects", ROOT_OBJECT_ACTIONS, *map(bucket_arn, objects), conditions=owned)
        allow(role, "RootBucket", ROOT_BUCKET_ACTIONS, bucket_arn(root.bucket), conditions=owned)
        suppress_objects(role, *(pattern for pattern in objects if pattern.endswith("*")))
        claim = bucket_arn(f"{root.bucket}/{root.claim_key}")
        deny(role, "ClaimUnconditional", ["s3:PutObject"], claim, conditions=UNCONDITIONAL)
        deny(role, "ClaimDeletion", ["s3:DeleteObject", "s3:DeleteObjectVersion"], claim)
        if not writes:
            allow(role, "ClaimRead", ["s3:GetObject"], claim, conditions=owned)
        if writes:
            allow(role, "Claim", CLAIM_ACTIONS, claim, conditions=owned)
            clusters = resources_arn("elasticmapreduce", "cluster")
            allow(role, "ClaimHolder", ["elasticmapreduce:DescribeCluster"], clusters)
            suppress(role, EVERY_CLUSTER)

    def deny_active_objects(self, root: Root) -> None:
        """Deny the nodes write access to the files of the active cluster."""
        objects = [f"{root.bucket}/{root.prefix}/{name}" for name in ACTIVE_OBJECTS]
        deny(self.nodes, "ActiveObjects", ["s3:PutObject", "s3:DeleteObject"], *map(bucket_arn, objects))
        suppress_objects(self.nodes, *(pattern for pattern in objects if pattern.endswith("*")))

    def _service(self, storage: StorageStack) -> iam.Role:
        # EMR Management Guide, emr-iam-role: both, against the confused deputy.
        account = {
            "StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account},
            "ArnLike": {"aws:SourceArn": regional_arn("elasticmapreduce", "*")},
        }
        role = iam.Role(
            self,
            "Service",
            description="Amazon EMR, for a warmbase cluster",
            assumed_by=iam.ServicePrincipal("elasticmapreduce.amazonaws.com", conditions=account),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name("service-role/AmazonEMRServicePolicy_v2")],
        )
        passed = {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}
        allow(role, "NodeRole", ["iam:PassRole"], self.nodes.role_arn, conditions=passed)
        allow(role, "VolumeKey", KEY_ACTIONS, storage.key.key_arn)
        granted = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
        allow(role, "VolumeGrants", ["kms:CreateGrant"], storage.key.key_arn, conditions=granted)
        suppress(role, "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonEMRServicePolicy_v2]")
        return role


def bucket_arn(bucket_or_objects: str) -> str:
    """Return the ARN of a bucket, or of the objects that a pattern in it names."""
    return cdk.Fn.sub(f"arn:${{AWS::Partition}}:s3:::{bucket_or_objects}")


def workspace_arn(workspace: str) -> str:
    """The ARN of a workspace of write-ahead logs, or of what is in it. EMR's documents leave its region out."""
    return cdk.Fn.sub(f"arn:${{AWS::Partition}}:emrwal:*:${{AWS::AccountId}}:workspace/{workspace}")


def regional_arn(service: str, resource: str) -> str:
    """Return the ARN of a resource of this account and region."""
    return cdk.Fn.sub(f"arn:${{AWS::Partition}}:{service}:${{AWS::Region}}:${{AWS::AccountId}}:{resource}")


def resources_arn(service: str, kind: str) -> str:
    """Return the ARN that stands for every resource of one kind in this account and region."""
    return regional_arn(service, f"{kind}/*")


def in_account(scope: Construct, account: str | None = None) -> Mapping[str, object]:
    """Return the condition that a bucket belongs to this account, by default that of the stack.

    Bucket names are global: without the condition, somebody else's bucket that has the name would do.
    """
    return {"StringEquals": {"aws:ResourceAccount": account or cdk.Stack.of(scope).account}}


def allow(
    role: iam.Role, sid: str, actions: Sequence[str], *resources: str, conditions: Mapping[str, object] | None = None
) -> None:
    """Allow a role these actions on these resources. Raises KeyError for a statement without a reason in REASONS."""
    _add(role, iam.PolicyStatement(sid=sid, actions=[*actions], resources=[*resources], conditions=conditions))


def deny(
    role: iam.Role, sid: str, actions: Sequence[str], *resources: str, conditions: Mapping[str, object] | None = None
) -> None:
    """Deny a role these actions, whatever else allows them. Raises KeyError for a statement without a reason."""
    denied, names = iam.Effect.DENY, [*resources]
    _add(role, iam.PolicyStatement(sid=sid, effect=denied, actions=[*actions], resources=names, conditions=conditions))


def _add(role: iam.Role, statement: iam.PolicyStatement) -> None:
    if statement.sid not in REASONS:
        raise KeyError(f"{statement.sid}: a statement needs a reason")
    role.add_to_policy(statement)
