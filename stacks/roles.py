"""The two roles of a cluster: what EMR may do for us, and what the nodes may do themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from warmbase.environments.environment import UNCONDITIONAL, Environment, Wal
from warmbase.stacks.nag_suppressions import suppress, suppress_objects, suppress_workspace
from warmbase.stacks.storage import StorageStack

# EMR Management Guide, emr-iam-role-for-ec2: what HBase on S3 needs of the root; nothing creates or deletes buckets.
READ_ACTIONS = ("s3:GetObject", "s3:GetObjectTagging", "s3:GetObjectVersion")
WRITE_ACTIONS = (
    "s3:AbortMultipartUpload",
    "s3:DeleteObject",
    "s3:ListMultipartUploadParts",
    "s3:PutObject",
    "s3:PutObjectTagging",
)
# The claim is read and written, never deleted: a user may, when nobody else knows who writes.
CLAIM_ACTIONS = ("s3:GetObject", "s3:PutObject")
# The directories that a master creates where they are missing (HBase 2.6, MasterFileSystem and SnapshotManager), and
# those above its own objects. S3A and EMRFS mark each directory with an object, and delete such marks again.
MASTER_DIRECTORIES = (
    ".hbase-snapshot",
    ".hbck",
    "archive",
    "archive/data",
    "archive/data/hbase",
    "archive/data/master",
    "data",
    "data/hbase",
    "mobdir",
    "staging",
)
REPLICA_OBJECTS = {
    "ReplicaMeta": ("data/hbase/meta_j-*", "archive/data/hbase/meta_j-*"),
    "ReplicaMaster": ("MasterData*", "archive/data/master/*"),
    "ReplicaTemporary": (".tmp*", ".hbase-snapshot/.tmp*"),
    "ReplicaDirectories": tuple(f"{path}{mark}" for path in MASTER_DIRECTORIES for mark in ("/", "_$folder$")),
}
"""The objects below the root that a replica writes, by statement. Its write-ahead log is on HDFS.

EMR names the `hbase:meta` of a replica after its cluster's id. No object of a user's table is among them, so that S3
refuses the writes of a replica that somebody makes a writer, by `readonly_switch` or otherwise.
"""
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
    "ReplicaRead": "a replica reads every object of the root; it writes only what the other Replica statements name",
    "ReplicaMeta": "a replica has its own hbase:meta, which EMR names after the cluster's id; store files that it has"
    " compacted are archived",
    "ReplicaMaster": "the master of a replica stores its procedures there; it is not documented whether EMR gives the"
    " directory a suffix, as HBase does",
    "ReplicaTemporary": "a master empties its temporary directories when it starts",
    "ReplicaDirectories": "a master creates missing directories when it starts, and each is marked by an object without"
    " content",
    "ClaimHolder": "a primary node asks whether the cluster that holds the claim is running; its id is not known in"
    " advance",
    "Tables": "Trino reads the files of the tables, only below the prefixes that the environment file names",
    "TableLists": "Trino lists the files of a table, only below the prefixes that the environment file names",
    "TableBuckets": "Trino asks for the region of a bucket that holds tables",
    "Root": "an analytics cluster never reads or writes HBase's root, whatever prefixes the environment file names",
    "Catalog": "Trino reads which tables there are, and where their files lie, from the Glue Data Catalog",
    "Logs": "EMR's agent on each node copies its logs there, and the programs of warmbase their answers; a node can"
    " neither list nor read them",
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
    "BackstopList": "the backstop of a canary finds clusters by name; IAM defines no resource for this action",
    "BackstopEnd": "the backstop of a canary ends its clusters: only those with the canary's tag",
    "BackstopLog": "the backstop of a canary writes its own log",
    "BackstopInvoke": "the schedules of a canary invoke its backstop, and nothing else",
    "VolumeKey": "EC2 encrypts the volumes with this key, on EMR's behalf",
    "VolumeGrants": "EC2 uses the key only for resources attached to an instance (EBS User Guide,"
    " ebs-encryption-requirements)",
}
"""The reason for each statement, by its Sid."""
METRIC_NAMESPACES = ("CWAgent", "warmbase")


class RootAccess(Enum):
    """The use that a cluster makes of the root: only a writer claims it, and appends to EMR's write-ahead log."""

    WRITER = "writer"
    REPLICA = "replica"
    UNCONFINED_REPLICA = "a replica of a version before 0.1.0, which somebody may have promoted by hand"


class Roles(Construct):
    """`service` for EMR, `nodes` with its instance profile of the same name, which EMR asks for."""

    def __init__(
        self, scope: Construct, environment: Environment, storage: StorageStack, name: str, access: RootAccess
    ) -> None:
        super().__init__(scope, "Roles")
        self.nodes = self._nodes(environment, storage, name, access)
        self.profile = iam.CfnInstanceProfile(self, "Profile", roles=[self.nodes.role_name], instance_profile_name=name)
        self.service = self._service(storage)

    def _nodes(self, environment: Environment, storage: StorageStack, name: str, access: RootAccess) -> iam.Role:
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
            self._root(role, environment, access)
        allow(role, "Logs", ["s3:PutObject"], bucket_arn(log_objects), conditions=in_account(role))
        if environment.wal is Wal.EMR_WAL and access is RootAccess.WRITER:
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

    def _root(self, role: iam.Role, environment: Environment, access: RootAccess) -> None:
        root = environment.root
        # In Fn::Sub only `${` begins a name: a dollar of a folder's mark stays as it is.
        objects = [f"{root.bucket}/{key}" for key in root.objects]
        owned = in_account(role, root.owner)
        statements = {"RootObjects": (sorted((*READ_ACTIONS, *WRITE_ACTIONS)), objects)}
        if access is RootAccess.REPLICA:
            statements = {"ReplicaRead": (sorted(READ_ACTIONS), objects)}
            for sid, names in REPLICA_OBJECTS.items():
                statements[sid] = (sorted(WRITE_ACTIONS), [f"{root.bucket}/{root.prefix}/{name}" for name in names])
        for sid, (actions, patterns) in statements.items():
            allow(role, sid, actions, *map(bucket_arn, patterns), conditions=owned)
            suppress_objects(role, *(pattern for pattern in patterns if pattern.endswith("*")))
        allow(role, "RootBucket", ROOT_BUCKET_ACTIONS, bucket_arn(root.bucket), conditions=owned)
        claim = bucket_arn(f"{root.bucket}/{root.claim_key}")
        deny(role, "ClaimUnconditional", ["s3:PutObject"], claim, conditions=UNCONDITIONAL)
        deny(role, "ClaimDeletion", ["s3:DeleteObject", "s3:DeleteObjectVersion"], claim)
        if access is not RootAccess.WRITER:
            allow(role, "ClaimRead", ["s3:GetObject"], claim, conditions=owned)
        else:
            allow(role, "Claim", CLAIM_ACTIONS, claim, conditions=owned)
            clusters = resources_arn("elasticmapreduce", "cluster")
            allow(role, "ClaimHolder", ["elasticmapreduce:DescribeCluster"], clusters)
            suppress(role, EVERY_CLUSTER)

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
