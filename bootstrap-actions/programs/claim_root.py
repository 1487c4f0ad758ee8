"""Claims an HBase root directory for this cluster, or says who holds it. Runs once on each primary. Python 3.9.

Two active clusters on one root corrupt it, and no infrastructure tool knows that. So an object beside the root names
the one cluster that may write there. It is created only where there is none (`If-None-Match: *`), and taken over only
from a cluster that EMR says is gone, and only if it has not changed since it was read (`If-Match`): of several clusters
that try at once, one wins. A cluster's own claim passes, for re-runs and for each of three primaries. A root that HBase
has written to and that nobody has claimed may be another tool's: it is refused until somebody says that it is free.

Exit status: 0 where the root is this cluster's; 1 where it is another's, or nobody can tell; 2 for wrong arguments.
Source: Amazon S3 User Guide, "Add preconditions to S3 operations with conditional requests".
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from role_requests import METADATA, Answer, Credentials, Identity, Metadata, Request, Unanswered, path_of, send, signed

JOB_FLOW = Path("/mnt/var/lib/info/job-flow.json")
SUFFIX = ".warmbase-claim"
"""What the claim's key has after that of the root."""
GONE = ("TERMINATED", "TERMINATED_WITH_ERRORS")
NOBODY = "nobody"
"""The cluster of a claim by which somebody has said that the root is free."""
# judgement: two primaries of one cluster, or two clusters, meet for a second, and a service that asks for patience gets
# a minute; more is an outage that must be seen.
ATTEMPTS = 8
WAIT_SECONDS = 1.0
LONGEST_WAITS = 16
OK, CHANGED, MISSING, CONFLICT = 200, 412, 404, 409
BUSY = (500, 502, 503, 504)


class Refused(Exception):
    """The root is not this cluster's; the message says whose it is and what can be done."""


class Busy(Unanswered):
    """A service that says to ask again later."""


class Claim(NamedTuple):
    """Who may write to the root, as the object says; `etag` is that object's."""

    cluster: str
    region: str
    account: str
    etag: str


class Root(NamedTuple):
    """Where the claim is kept, and as whom it is asked for. `key` encrypts the claim; None is the bucket's default."""

    url: str
    hbase_id: str
    key: str | None
    emr: str
    identity: Identity
    credentials: Credentials
    cluster: str
    wait_seconds: float


def say(message: str) -> None:
    """Return a line for the bootstrap action's log."""
    sys.stderr.write(f"claim-root: {message}\n")


def claim(root: Root) -> str:
    """How the root came to be ours. Raises Refused where it did not, Unanswered where nobody says."""
    for attempt in range(ATTEMPTS):
        try:
            said = _tried(root)
            if said is not None:
                return said
            why: Exception = Refused(
                f"{root.url} changed {ATTEMPTS} times while it was claimed: other clusters start on this root"
            )
        except Busy as busy:
            why = busy
        time.sleep(root.wait_seconds * min(2**attempt, LONGEST_WAITS))
    raise why


def _tried(root: Root) -> str | None:
    """How it came to be ours; None where another was quicker."""
    found = _held(root)
    if found is None:
        _refuse_unclaimed(root)
        return _written(root, {"If-None-Match": "*"}, "nobody had claimed it")
    if found.cluster == root.cluster:
        return "it is this cluster's already"
    return _written(root, {"If-Match": found.etag}, f"{found.cluster} held it, {_gone(root, found)}")


def _written(root: Root, condition: dict[str, str], said: str) -> str | None:
    answer = _put(root, condition)
    if answer.status == OK:
        return said
    if not _changed_meanwhile(answer):
        raise Unanswered(f"PUT {root.url}: {_why(answer)}")
    return None


def _refuse_unclaimed(root: Root) -> None:
    """HBase writes its id into a root before anything else."""
    answer = _asked(root, Request("GET", root.hbase_id, {}), "s3")
    if answer.status == OK:
        raise Refused(
            "HBase has written to this root, and no claim says which cluster writes there now\n"
            "  two clusters that write to one root corrupt it\n"
            "  fix: if no cluster does any more, say so: warmbase claim ENV --take"
        )
    if answer.status != MISSING:
        raise Unanswered(f"GET {root.hbase_id}: {_why(answer)}")


def _changed_meanwhile(answer: Answer) -> bool:
    """Whether a write failed only because another was quicker: to make the object, to change it, or to delete it."""
    return answer.status in (CHANGED, CONFLICT) or (answer.status == MISSING and b"NoSuchKey" in answer.body)


def _held(root: Root) -> Claim | None:
    """The claim that stands; None where it has gone since. Raises Refused for one that cannot be read."""
    answer = _asked(root, Request("GET", root.url, {}), "s3")
    if answer.status == MISSING:
        return None
    if answer.status != OK:
        raise Unanswered(f"GET {root.url}: {_why(answer)}")
    try:
        said = json.loads(answer.body)
        return Claim(said["cluster"], said["region"], said["account"], answer.headers["etag"])
    except (ValueError, KeyError, TypeError) as fault:
        raise Refused(
            f"{root.url} is not a claim that can be read ({fault!r}), so nobody can tell who writes to the root\n"
            f"  fix: look who does, then delete the object"
        ) from None


def _gone(root: Root, found: Claim) -> str:
    """Why the claim of another cluster no longer counts. Raises Refused where it does."""
    if found.cluster == NOBODY:
        return "as somebody has said"
    held = f"the root is claimed by {found.cluster} in {found.region} of account {found.account}"
    fix = (
        "  two clusters that write to one root corrupt it\n"
        f"  fix: terminate {found.cluster} first, or launch this cluster as a replica or over another root"
    )
    if (found.account, found.region) != (root.identity.account, root.identity.region):
        raise Refused(f"{held}, where this cluster cannot ask whether it still runs\n{fix}")
    body = json.dumps({"ClusterId": found.cluster}).encode()
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "ElasticMapReduce.DescribeCluster"}
    answer = _asked(root, Request("POST", root.emr, headers, body), "elasticmapreduce")
    if answer.status == OK:
        state = str(json.loads(answer.body)["Cluster"]["Status"]["State"])
        if state in GONE:
            return f"and is {state}"
        raise Refused(f"{held}, which is {state}\n{fix}")
    if answer.status == 400 and b"InvalidRequestException" in answer.body and b"is not valid" in answer.body:
        return "and EMR no longer knows it"
    raise Unanswered(f"{held}; whether it still runs, EMR did not say: {_why(answer)}")


def _put(root: Root, condition: dict[str, str]) -> Answer:
    said = {
        "cluster": root.cluster,
        "region": root.identity.region,
        "account": root.identity.account,
        "claimed_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    headers = {"Content-Type": "application/json", **condition}
    if root.key:
        # A bucket's policy may refuse what is not encrypted as its owner wants it.
        headers["x-amz-server-side-encryption"] = "aws:kms"
        headers["x-amz-server-side-encryption-aws-kms-key-id"] = root.key
    return _asked(root, Request("PUT", root.url, headers, json.dumps(said, indent=1).encode()), "s3")


def _asked(root: Root, request: Request, service: str) -> Answer:
    """The answer. Raises Busy for one that asks for patience."""
    now = datetime.now(timezone.utc)
    answer = send(signed(request, root.credentials, root.identity.region, service, now))
    if answer.status in BUSY or (answer.status == 400 and b"ThrottlingException" in answer.body):
        raise Busy(f"{request.method} {request.url}: {_why(answer)}")
    return answer


def _why(answer: Answer) -> str:
    return f"{answer.status} {answer.body[:400].decode(errors='replace')}"


def arguments() -> argparse.Namespace:
    """As the bootstrap action gives them; the URLs are AWS's own unless a test says otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--kms-key", help="ARN of the key that encrypts the claim; the bucket's default unless said")
    parser.add_argument("--job-flow", type=Path, default=JOB_FLOW)
    parser.add_argument("--wait-seconds", type=float, default=WAIT_SECONDS)
    parser.add_argument("--metadata", default=METADATA)
    parser.add_argument("--s3", help="https://s3.REGION.amazonaws.com unless said")
    parser.add_argument("--emr", help="https://elasticmapreduce.REGION.amazonaws.com unless said")
    return parser.parse_args()


def this_cluster(job_flow: Path) -> str:
    """The id of the cluster that this node is of, as EMR wrote it. Raises Refused where it did not."""
    try:
        return str(json.loads(job_flow.read_text(encoding="utf-8"))["jobFlowId"])
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise Refused(f"{job_flow} does not say which cluster this is: {fault!r}") from None


def main() -> int:
    """Exit status for the bootstrap action."""
    given = arguments()
    try:
        metadata = Metadata(given.metadata)
        identity, domain = metadata.identity(), metadata.domain()
        store = given.s3 or f"https://s3.{identity.region}.{domain}"
        root = Root(
            url=f"{store}/{given.bucket}/{path_of(given.key)}",
            hbase_id=f"{store}/{given.bucket}/{path_of(given.key.removesuffix(SUFFIX))}/hbase.id",
            key=given.kms_key or None,
            emr=(given.emr or f"https://elasticmapreduce.{identity.region}.{domain}").rstrip("/") + "/",
            identity=identity,
            credentials=metadata.credentials(),
            cluster=this_cluster(given.job_flow),
            wait_seconds=given.wait_seconds,
        )
        say(f"{root.cluster} may write to the root: {claim(root)}")
    except (Refused, Unanswered) as refusal:
        say(f"s3://{given.bucket}/{given.key}: {refusal}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
