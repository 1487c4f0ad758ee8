"""Claims an HBase root for this cluster, or says which cluster has it. Runs once on each primary. Python 3.9.

Two active clusters on one root corrupt it, and no infrastructure tool knows that. So an object beside the root names
the one cluster that may write there. It is created only where there is none (`If-None-Match: *`), and replaced only
when EMR says that the cluster it names is gone, and only if it has not changed since it was read (`If-Match`): of
several clusters that try at once, one wins. A cluster's own claim passes, for re-runs and for each of three primaries.
A root that HBase has written to and that has no claim may be another tool's: it is refused until you say it is free.

Exit status: 0 when the root is this cluster's; 1 when it is another's, or nobody can tell; 2 for wrong arguments.
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
"""The claim's key is the root's key and this suffix."""
ENDED = ("TERMINATED", "TERMINATED_WITH_ERRORS")
MEMORY_SECONDS = 62 * 86_400
"""EMR returns clusters that ended within two months (EMR API Reference, DescribeJobFlows)."""
ACTIVE = "active.cluster.suffix.id"
"""The file in which open HBase names the one cluster that may write (HBASE-29081)."""
MAGIC = b"PBUF"
NOBODY = "nobody"
"""The cluster in a claim with which somebody has declared the root free."""
# judgement: two primaries of one cluster, or two clusters, collide for a second, and a throttling service gets a
# minute; more is an outage that must be visible.
ATTEMPTS = 8
WAIT_SECONDS = 1.0
LONGEST_WAITS = 16
CORRUPTION = "two clusters that write to one root corrupt it"
OK, CHANGED, MISSING, CONFLICT = 200, 412, 404, 409
BUSY = (500, 502, 503, 504)


class Refused(Exception):
    """The root is not this cluster's; the message says why, and how to mend it."""

    def __init__(self, what: str, why: str, fix: str) -> None:
        super().__init__(f"{what}\n  {why}\n  fix: {fix}")


class Busy(Unanswered):
    """A service that asks to be called again later."""


class Claim(NamedTuple):
    """The cluster that may write to the root, as the claim object names it; `etag` is that object's."""

    cluster: str
    region: str
    account: str
    claimed_at: str
    etag: str


class Root(NamedTuple):
    """The place of the claim, and who asks for it. `key` encrypts the claim; None is the bucket's default."""

    url: str
    hbase_id: str
    key: str | None
    emr: str
    identity: Identity
    credentials: Credentials
    cluster: str
    wait_seconds: float


def say(message: str) -> None:
    """Writes a line to the bootstrap action's log."""
    sys.stderr.write(f"claim-root: {message}\n")


def claim(root: Root) -> str:
    """Return how this cluster got the root. Raises Refused if it did not, Unanswered if a service does not answer."""
    for attempt in range(ATTEMPTS):
        try:
            result = _try_claim(root)
            if result is not None:
                return result
            failure: Exception = Refused(
                f"{root.url} changed {ATTEMPTS} times while this cluster claimed it",
                "other clusters start on this root",
                "launch one cluster on this root at a time",
            )
        except Busy as busy:
            failure = busy
        time.sleep(root.wait_seconds * min(2**attempt, LONGEST_WAITS))
    raise failure


def _try_claim(root: Root) -> str | None:
    """Return how this cluster got the root; None if another was quicker."""
    current = _current_claim(root)
    if current is None or current.cluster != root.cluster:
        _refuse_active_elsewhere(root)
    if current is None:
        _refuse_unclaimed(root)
        return _write(root, {"If-None-Match": "*"}, "nobody had claimed it")
    if current.cluster == root.cluster:
        return "it is this cluster's already"
    return _write(root, {"If-Match": current.etag}, f"{current.cluster} had it, {_why_ended(root, current)}")


def _write(root: Root, condition: dict[str, str], result: str) -> str | None:
    answer = _put(root, condition)
    if answer.status == OK:
        return result
    if not _changed_meanwhile(answer):
        raise Unanswered(f"PUT {root.url}: {_why(answer)}")
    return None


def _refuse_unclaimed(root: Root) -> None:
    """Raises Refused if HBase has used the root: it writes its id there before anything else."""
    answer = _ask(root, Request("GET", root.hbase_id, {}), "s3")
    if answer.status == OK:
        raise Refused(
            "HBase has written to this root, and no claim says which cluster writes there now",
            CORRUPTION,
            "if no cluster writes there any more, say so: warmbase claim ENV --take",
        )
    if answer.status != MISSING:
        raise Unanswered(f"GET {root.hbase_id}: {_why(answer)}")


def _refuse_active_elsewhere(root: Root) -> None:
    """Raises Refused if HBase's own file names another cluster: one whose id or suffix is not ours."""
    place = root.hbase_id.removesuffix("hbase.id") + ACTIVE
    contents = [_ask(root, Request("GET", url, {}), "s3") for url in (place, root.hbase_id)]
    for url, answer in zip((place, root.hbase_id), contents):
        if answer.status not in (OK, MISSING):
            raise Unanswered(f"GET {url}: {_why(answer)}")
    active, own = contents
    names = _texts(active.body)
    if active.status == OK and (not names or names[:1] != _texts(own.body)[:1] or "".join(names[1:])):
        raise Refused(
            f"{ACTIVE} says that {' '.join(names) or 'another cluster'} writes to this root",
            CORRUPTION,
            "stop that cluster, or make it a replica; once it has stopped, delete the file",
        )


def _texts(content: bytes) -> list[str]:
    """Return the strings of a message of HBase; none where it is no such message. Each is shorter than 128 bytes."""
    texts, rest = [], content[len(MAGIC) :] if content.startswith(MAGIC) else b""
    while len(rest) > 1 and len(rest) >= 2 + rest[1]:
        texts.append(rest[2 : 2 + rest[1]].decode(errors="replace"))
        rest = rest[2 + rest[1] :]
    return texts


def _changed_meanwhile(answer: Answer) -> bool:
    """Return whether a write failed only because another made, changed or deleted the object first."""
    return answer.status in (CHANGED, CONFLICT) or (answer.status == MISSING and b"NoSuchKey" in answer.body)


def _current_claim(root: Root) -> Claim | None:
    """Return the claim; None where there is none. Raises Refused for one that cannot be read."""
    answer = _ask(root, Request("GET", root.url, {}), "s3")
    if answer.status == MISSING:
        return None
    if answer.status != OK:
        raise Unanswered(f"GET {root.url}: {_why(answer)}")
    try:
        fields = json.loads(answer.body)
        claimed_at = str(fields.get("claimed_at", ""))
        return Claim(fields["cluster"], fields["region"], fields["account"], claimed_at, answer.headers["etag"])
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise Refused(
            f"cannot read the claim at {root.url}: {fault!r}",
            "nobody can tell which cluster writes to the root",
            "find out which cluster does; when none does, delete the object",
        ) from None


def _why_ended(root: Root, current: Claim) -> str:
    """Return why the claim of another cluster no longer counts. Raises Refused where it does."""
    if current.cluster == NOBODY:
        return "as somebody declared"
    what = f"the root is claimed by {current.cluster} in {current.region} of account {current.account}"
    fix = f"terminate {current.cluster} first, or launch this cluster as a replica or over another root"
    if (current.account, current.region) != (root.identity.account, root.identity.region):
        raise Refused(f"{what}, where this cluster cannot ask whether it still runs", CORRUPTION, fix)
    body = json.dumps({"ClusterId": current.cluster}).encode()
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "ElasticMapReduce.DescribeCluster"}
    answer = _ask(root, Request("POST", root.emr, headers, body), "elasticmapreduce")
    if answer.status == OK:
        state = str(json.loads(answer.body)["Cluster"]["Status"]["State"])
        if state in ENDED:
            return f"and is {state}"
        raise Refused(f"{what}, which is {state}", CORRUPTION, fix)
    if answer.status == 400 and b"InvalidRequestException" in answer.body and b"is not valid" in answer.body:
        if _is_forgotten(current.claimed_at):
            return "and EMR no longer knows it"
        raise Refused(
            f"{what} since {current.claimed_at}, and EMR does not know it",
            "EMR forgets a cluster only two months after its end, so this one may still run elsewhere",
            "find that cluster; once no cluster writes there, delete the claim, and run: warmbase claim ENV --take",
        )
    raise Unanswered(f"{what}; EMR did not say whether it still runs: {_why(answer)}")


def _is_forgotten(claimed_at: str) -> bool:
    """Return whether EMR may have forgotten a cluster that claimed the root then; False if the time is not valid."""
    try:
        age = time.time() - datetime.fromisoformat(claimed_at.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return False
    return age > MEMORY_SECONDS


def _put(root: Root, condition: dict[str, str]) -> Answer:
    fields = {
        "cluster": root.cluster,
        "region": root.identity.region,
        "account": root.identity.account,
        "claimed_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    headers = {"Content-Type": "application/json", **condition}
    if root.key:
        # A bucket policy may refuse an object that is not encrypted with its owner's key.
        headers["x-amz-server-side-encryption"] = "aws:kms"
        headers["x-amz-server-side-encryption-aws-kms-key-id"] = root.key
    return _ask(root, Request("PUT", root.url, headers, json.dumps(fields, indent=1).encode()), "s3")


def _ask(root: Root, request: Request, service: str) -> Answer:
    """Return the answer. Raises Busy where the service is throttling."""
    now = datetime.now(timezone.utc)
    answer = send(signed(request, root.credentials, root.identity.region, service, now))
    if answer.status in BUSY or (answer.status == 400 and b"ThrottlingException" in answer.body):
        raise Busy(f"{request.method} {request.url}: {_why(answer)}")
    return answer


def _why(answer: Answer) -> str:
    return f"{answer.status} {answer.body[:400].decode(errors='replace')}"


def arguments() -> argparse.Namespace:
    """Return the arguments of the bootstrap action; the URLs are AWS's own except in tests."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--kms-key", help="ARN of the key that encrypts the claim; the bucket's default if not given")
    parser.add_argument("--job-flow", type=Path, default=JOB_FLOW)
    parser.add_argument("--wait-seconds", type=float, default=WAIT_SECONDS)
    parser.add_argument("--metadata", default=METADATA)
    parser.add_argument("--s3", help="https://s3.REGION.amazonaws.com if not given")
    parser.add_argument("--emr", help="https://elasticmapreduce.REGION.amazonaws.com if not given")
    return parser.parse_args()


def this_cluster(job_flow: Path) -> str:
    """Return the id of this node's cluster, as EMR wrote it. Raises Refused where it did not."""
    try:
        return str(json.loads(job_flow.read_text(encoding="utf-8"))["jobFlowId"])
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise Refused(
            f"{job_flow} does not say which cluster this is: {fault!r}",
            "a claim names its cluster",
            "launch another cluster; if that fails too, report it to AWS: EMR writes this file",
        ) from None


def main() -> int:
    """Return the exit status for the bootstrap action."""
    options = arguments()
    try:
        metadata = Metadata(options.metadata)
        identity, domain = metadata.identity(), metadata.domain()
        store = options.s3 or f"https://s3.{identity.region}.{domain}"
        root = Root(
            url=f"{store}/{options.bucket}/{path_of(options.key)}",
            hbase_id=f"{store}/{options.bucket}/{path_of(options.key.removesuffix(SUFFIX))}/hbase.id",
            key=options.kms_key or None,
            emr=(options.emr or f"https://elasticmapreduce.{identity.region}.{domain}").rstrip("/") + "/",
            identity=identity,
            credentials=metadata.credentials(),
            cluster=this_cluster(options.job_flow),
            wait_seconds=options.wait_seconds,
        )
        say(f"{root.cluster} may write to the root: {claim(root)}")
    except (Refused, Unanswered) as refusal:
        say(f"s3://{options.bucket}/{options.key}: {refusal}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
