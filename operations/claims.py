"""The claim of a root: which cluster has it, whether that cluster still runs, and how you release it.

The object is written by a primary of the cluster that holds it (`bootstrap-actions/programs/claim_root.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct
from msgspec.structs import replace

from emr.cluster_state import ENDED, has_ended
from environments.environment import Environment
from environments.root import Root
from operations.aws import Aws
from operations.aws_errors import MISSING, error_code, translated
from operations.configured_roots import writes_to
from operations.environment_cluster import state_of, unknown_cluster
from sizing.problem import OperationFailed, Refused

NOBODY: Final = "nobody"
"""The cluster in a claim that was released; the node's program knows this value, too."""


class Claim(Struct, frozen=True, kw_only=True):
    """The cluster that may write to a root. `state` is its state in EMR; None where EMR does not know the cluster.

    `ended` is true only where EMR proves that the cluster has ended, which it can in its own account and region.
    """

    cluster: str
    region: str
    account: str
    claimed_at: str
    etag: str
    state: str | None
    ended: bool

    @property
    def holds(self) -> bool:
        """Return whether another cluster would be refused."""
        return self.cluster != NOBODY and not self.ended


def claim_of(aws: Aws, root: Root) -> Claim | None:
    """Return the current claim; None if no cluster has claimed the root. Raises OperationFailed if that is unknown."""
    bucket = root.bucket_in(aws.account)
    with translated(f"could not read the claim s3://{bucket}/{root.claim_key}", "check that the bucket exists"):
        try:
            answer = aws.s3.get_object(Bucket=bucket, Key=root.claim_key)
        except ClientError as error:
            if error_code(error) in MISSING:
                return None
            raise
        body = answer["Body"].read()
    try:
        content: Mapping[str, Any] = json.loads(body)
        cluster, region, account = str(content["cluster"]), str(content["region"]), str(content["account"])
    except (ValueError, KeyError, TypeError):
        raise OperationFailed.of(
            where=f"s3://{bucket}/{root.claim_key}",
            what="is not a valid claim",
            why="warmbase cannot tell which cluster writes to the root",
            fix="find out which cluster writes there; when none does, delete the object, and run: warmbase"
            " claim ENV --take",
        ) from None
    claimed_at = str(content.get("claimed_at", ""))
    is_here = (account, region) == (aws.account, aws.region)
    state = state_of(aws, cluster) if is_here and cluster != NOBODY else None
    return Claim(
        cluster=cluster,
        region=region,
        account=account,
        claimed_at=claimed_at,
        etag=answer["ETag"],
        state=state,
        ended=is_here and has_ended(state, claimed_at),
    )


def release(aws: Aws, environment: Environment, claim: Claim | None) -> None:
    """Says that the root is free, if the claim is still that one.

    Raises Refused while its cluster may run, or where EMR cannot be asked, or where the claim has changed meanwhile.
    """
    root = environment.root
    bucket = root.bucket_in(aws.account)
    if claim is not None and claim.cluster != NOBODY:
        _refuse_running(claim, aws, environment)
    content = {
        "cluster": NOBODY,
        "region": environment.region,
        "account": aws.account,
        "claimed_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    condition: Any = {"IfNoneMatch": "*"} if claim is None else {"IfMatch": claim.etag}
    encryption: Any = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": root.key} if root.key else {}
    with translated(f"could not write the claim s3://{bucket}/{root.claim_key}", "run the same command again"):
        try:
            aws.s3.put_object(
                Bucket=bucket,
                Key=root.claim_key,
                Body=json.dumps(content, indent=1).encode(),
                **condition,
                **encryption,
            )
        except ClientError as error:
            if error_code(error) in {"PreconditionFailed", "ConditionalRequestConflict"}:
                raise Refused.of(
                    where=f"s3://{bucket}/{root.claim_key}",
                    what="changed while the command ran",
                    why="a cluster is starting on this root",
                    fix="check which cluster has the claim: warmbase claim",
                ) from None
            raise


def _refuse_running(claim: Claim, aws: Aws, environment: Environment) -> None:
    claim_url = f"s3://{environment.root.bucket_in(aws.account)}/{environment.root.claim_key}"
    if (claim.account, claim.region) != (aws.account, environment.region):
        raise Refused.of(
            where=claim_url,
            what=f"is claimed by {claim.cluster} in {claim.region} of account {claim.account}",
            why="these credentials cannot check there whether that cluster is running",
            fix="check in that account and region; once the cluster is terminated, delete the object by hand and"
            " run the same command again",
        )
    if claim.holds and claim.state is None:
        unknown = unknown_cluster(aws, f"{claim_url}, which names {claim.cluster},", claim.claimed_at)
        fix = "find out what this cluster was; once you are sure that it no longer writes, delete the object by hand"
        raise Refused(replace(unknown, fix=fix))
    if claim.holds:
        raise Refused.of(
            where=claim_url,
            what=f"is claimed by {claim.cluster}, which is {claim.state}",
            why="two clusters that write to one root corrupt it",
            fix="terminate that cluster first: warmbase teardown",
        )


def running_writers(aws: Aws, root: Root) -> list[str]:
    """Return every cluster that `writers` lists, our own included. Raises OperationFailed where AWS does not answer."""
    with translated("could not list the clusters that may write to the root", "run the same command again"):
        return list(writers(aws, root, None))


def writers(aws: Aws, root: Root, own: str | None) -> Iterator[str]:
    """Each cluster of this account and region over this root that runs and is no replica, but for our own.

    Raises botocore's errors.
    """
    # Without a filter by state, which could not name a state that is new.
    for page in aws.emr.get_paginator("list_clusters").paginate():
        for cluster in page["Clusters"]:
            if cluster["Status"]["State"] in ENDED:
                continue
            if cluster["Id"] != own and writes_to(aws, cluster["Id"], root):
                yield f"{cluster['Id']} ({cluster['Name']}), {cluster['Status']['State']}"
