"""Checks of the HBase root: its bucket exists where it should, and no other cluster writes there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from botocore.exceptions import ClientError

from configurations.node_files import site_properties
from environments.names import storage_stack
from environments.root import Root
from operations.aws import Aws
from operations.aws_errors import MISSING, error_code
from operations.bucket_owners import bucket_name
from operations.claims import NOBODY, claim_of, writers
from operations.deployed_stack import status_of
from operations.description import cluster_id
from operations.foreign_writes import ACTIVE, active_elsewhere, written_since_release
from operations.preflight.check import PreflightCheck, PreflightContext


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
