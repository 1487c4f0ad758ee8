"""The claim of a root: which cluster has it, whether that cluster still runs, and how you release it.

The object is written by a primary of the cluster that holds it (`bootstrap-actions/programs/claim_root.py`).

A cluster of another tool claims nothing. EMR lists the configurations of every cluster, from which `writes_to` reads
the roots that it writes to. A writer without a claim also leaves traces in the root: HBase's own mark of the active
cluster, and fresh files. Source: HBASE-29081, MasterFileSystem.negotiateActiveClusterSuffixFile; HBase Reference Guide,
Read Replica Cluster.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct
from msgspec.structs import replace

from warmbase.emr.cluster_state import ENDED, has_ended
from warmbase.environments.environment import Environment, Root
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.clients import Aws, entries
from warmbase.operations.aws.errors import MISSING, error_code, translated
from warmbase.operations.cluster.stack import state_of, unknown_cluster

OBJECT_STORE: Final = re.compile(r"s3[an]?://(?P<bucket>[^/]+)(?P<path>/.*)?", re.IGNORECASE)
"""All three schemes reach the same objects: EMRFS takes each of them, and S3A `s3a`."""
FLEETS: Final = "INSTANCE_FLEET"


def writes_to(aws: Aws, cluster: str, root: Root) -> bool:
    """Return whether a node of the cluster writes to the root, or to one inside or around it. Raises botocore's errors.

    A group's own settings replace the cluster's, for the root and for the mode of a read replica.
    """
    bucket, path = root.bucket_in(aws.account), f"{posixpath.normpath(f'/{root.prefix}').rstrip('/')}/"
    described: Any = aws.emr.describe_cluster(ClusterId=cluster)["Cluster"]
    common = _properties(described.get("Configurations", ()))
    # For each kind of node, the configurations that EMR last applied, and those that it has yet to apply.
    kinds: list[Iterable[Any]] = []
    if described.get("InstanceCollectionType") == FLEETS:
        for fleet in entries(aws.emr.get_paginator("list_instance_fleets"), "InstanceFleets", ClusterId=cluster):
            kinds += [kind.get("Configurations", ()) for kind in fleet.get("InstanceTypeSpecifications", ())]
    else:
        for group in entries(aws.emr.get_paginator("list_instance_groups"), "InstanceGroups", ClusterId=cluster):
            kinds.append(group.get("Configurations", ()))
            if "LastSuccessfullyAppliedConfigurations" in group:
                kinds.append(group["LastSuccessfullyAppliedConfigurations"])
    for settings in [{**common, **_properties(configurations)} for configurations in kinds] or [common]:
        place = OBJECT_STORE.fullmatch(settings.get("hbase.rootdir", "").strip())
        is_replica = settings.get("hbase.emr.readreplica.enabled", "").strip().lower() == "true"
        if is_replica or place is None or place["bucket"] != bucket:
            continue
        # Repeated slashes are removed and one is added at the end, so that only whole names are compared.
        other = f"{posixpath.normpath('/' + (place['path'] or '').strip('/')).rstrip('/')}/"
        if path.startswith(other) or other.startswith(path):
            return True
    return False


def _properties(configurations: Iterable[Any]) -> dict[str, str]:
    """Return the properties of all classifications, and of those inside them."""
    properties: dict[str, str] = {}
    for classification in configurations:
        properties |= classification.get("Properties", {})
        properties |= _properties(classification.get("Configurations", ()))
    return properties


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
    claim_url = f"s3://{bucket}/{root.claim_key}"
    if claim is not None and claim.cluster != NOBODY:
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
            fix = (
                "find out what this cluster was; once you are sure that it no longer writes, delete the object by hand"
            )
            raise Refused(replace(unknown, fix=fix))
        if claim.holds:
            raise Refused.of(
                where=claim_url,
                what=f"is claimed by {claim.cluster}, which is {claim.state}",
                why="two clusters that write to one root corrupt it",
                fix="terminate that cluster first: warmbase teardown",
            )
    content = {
        "cluster": NOBODY,
        "region": environment.region,
        "account": aws.account,
        "claimed_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    condition: Any = {"IfNoneMatch": "*"} if claim is None else {"IfMatch": claim.etag}
    encryption: Any = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": root.key} if root.key else {}
    with translated(f"could not write the claim {claim_url}", "run the same command again"):
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
                    where=claim_url,
                    what="changed while the command ran",
                    why="a cluster is starting on this root",
                    fix="check which cluster has the claim: warmbase claim",
                ) from None
            raise


def running_writers(aws: Aws, root: Root) -> list[str]:
    """Return every cluster that `writers` lists, our own included. Raises OperationFailed where AWS does not answer."""
    with translated("could not list the clusters that may write to the root", "run the same command again"):
        return list(writers(aws, root, None))


def writers(aws: Aws, root: Root, own: str | None) -> Iterator[str]:
    """Each cluster of this account and region over this root that runs and is no replica, but for our own.

    Raises botocore's errors.
    """
    # Without a filter by state, which could not name a state that is new.
    for cluster in entries(aws.emr.get_paginator("list_clusters"), "Clusters"):
        if cluster["Status"]["State"] in ENDED:
            continue
        if cluster["Id"] != own and writes_to(aws, cluster["Id"], root):
            yield f"{cluster['Id']} ({cluster['Name']}), {cluster['Status']['State']}"


ACTIVE: Final = "active.cluster.suffix.id"
"""The file in which open HBase names the one cluster that may write; releases without read replicas ignore it."""
MAGIC: Final = b"PBUF"
# Every active cluster flushes both while it runs. The meta table of a replica has the replica's id in its name.
FLUSHED: Final = ("data/hbase/meta/", "MasterData/")


def active_elsewhere(aws: Aws, root: Root, suffix: str) -> str | None:
    """Return the cluster that HBase's file names; None if it is one like ours, or if there is no such file.

    HBase compares the id of the root and the suffix of hbase:meta, and so does this. Raises botocore's errors.
    """
    content = _read(aws, root, ACTIVE)
    if content is None:
        return None
    names, own = list(_texts(content)), list(_texts(_read(aws, root, "hbase.id") or b""))
    if names and names[:1] == own[:1] and (names[1:] or [""]) == [suffix]:
        return None
    cluster, *suffixes = names or ["a cluster that cannot be read"]
    return f"{cluster} (suffix {suffixes[0]})" if suffixes and suffixes[0] else cluster


def written_since_release(aws: Aws, root: Root) -> datetime | None:
    """Return when a cluster last wrote to the root, if that is later than the claim; S3 has both times."""
    bucket = root.bucket_in(aws.account)
    released = aws.s3.get_object(Bucket=bucket, Key=root.claim_key)["LastModified"]
    paginator = aws.s3.get_paginator("list_objects_v2")
    written = (
        file["LastModified"]
        for directory in FLUSHED
        for file in entries(paginator, "Contents", Bucket=bucket, Prefix=f"{root.prefix}/{directory}")
    )
    last = max(written, default=released)
    return last if last > released else None


def _read(aws: Aws, root: Root, name: str) -> bytes | None:
    try:
        return aws.s3.get_object(Bucket=root.bucket_in(aws.account), Key=f"{root.prefix}/{name}")["Body"].read()
    except ClientError as error:
        if error_code(error) not in MISSING:
            raise
        return None


def _texts(content: bytes) -> Iterator[str]:
    """Yield the strings of a message of HBase, in the order of its fields; nothing where it is no such message."""
    rest = content.removeprefix(MAGIC)
    # Each field is a tag, a length of one byte (these texts are shorter than 128 bytes), and the text.
    while rest != content and len(rest) > 1 and rest[1] < 128 and len(rest) >= 2 + rest[1]:  # noqa: PLR2004
        yield rest[2 : 2 + rest[1]].decode(errors="replace")
        rest = rest[2 + rest[1] :]
