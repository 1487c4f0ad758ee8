"""Storage: the HBase root, its key, the logs, and EMR's write-ahead log where it is asked for.

They outlive every cluster and every deletion of a stack, but not a first deployment that fails.
"""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_emr as emr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from warmbase.environments.environment import INCOMPLETE_UPLOAD_DAYS, UNCONDITIONAL, Environment, Wal
from warmbase.environments.names import storage_stack
from warmbase.stacks.app import environment_stack, filled_in, tag
from warmbase.stacks.nag_suppressions import suppress

# Compaction replaces store files: without an end to old versions the bucket would keep every file for ever, and
# without an end to delete markers each listing would step over all that there ever was.
NONCURRENT_DAYS = 3  # judgement: a weekend to notice that something was deleted
LOG_DAYS = 90  # judgement: a quarter to look back on

RETENTION: Final = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
"""CloudFormation retains what holds data, except when the creation of the stack fails: a bucket that outlived that
would be empty, and its name would stop the next deployment."""


class StorageStack(cdk.Stack):
    """Retained and protected from deletion."""

    def __init__(self, scope: Construct, environment: Environment) -> None:
        super().__init__(
            scope, storage_stack(environment.name), env=environment_stack(environment), termination_protection=True
        )
        tag(self, environment)
        self.key = kms.Key(
            self,
            "RootKey",
            description=f"HBase root and local disks of warmbase environment {environment.name}",
            enable_key_rotation=True,
            removal_policy=RETENTION,
        )
        self.root_key_arn = environment.root.key or self.key.key_arn
        """The ARN of the key that encrypts the objects of the root."""
        self.logs = s3.Bucket(
            self,
            "Logs",
            bucket_name=filled_in(environment.log_bucket),
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            removal_policy=RETENTION,
            lifecycle_rules=[s3.LifecycleRule(expiration=cdk.Duration.days(LOG_DAYS))],
        )
        suppress(self.logs, "S1")
        if environment.mode.keeps_data_in_s3 and not environment.root.existing:
            self._root(environment)
        if environment.wal is Wal.EMR_WAL:
            workspace = emr.CfnWALWorkspace(self, "WalWorkspace", wal_workspace_name=environment.wal_workspace)
            workspace.apply_removal_policy(RETENTION)

    def _root(self, environment: Environment) -> None:
        bucket = s3.Bucket(
            self,
            "Root",
            bucket_name=filled_in(environment.root.bucket),
            encryption=s3.BucketEncryption.KMS,
            encryption_key=self.key,
            bucket_key_enabled=True,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            versioned=True,
            removal_policy=RETENTION,
            server_access_logs_bucket=self.logs,
            server_access_logs_prefix="access/root/",
            metrics=[s3.BucketMetrics(id=environment.root.metrics_id, prefix=f"{environment.root.prefix}/")],
            lifecycle_rules=[
                s3.LifecycleRule(
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(INCOMPLETE_UPLOAD_DAYS),
                    noncurrent_version_expiration=cdk.Duration.days(NONCURRENT_DAYS),
                    expired_object_delete_marker=True,
                )
            ],
        )
        bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid="ClaimUnconditional",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["s3:PutObject"],
                resources=[bucket.arn_for_objects(environment.root.claim_key)],
                conditions=UNCONDITIONAL,
            )
        )
