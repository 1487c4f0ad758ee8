"""The claim of a root, by the program that primaries run, against services that honour conditional writes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.bootstrap_actions.services import Services, run_program, services

PROGRAM = Path(__file__).parents[2] / "bootstrap-actions" / "programs" / "claim_root.py"
KEY = "/root-bucket/hbase.warmbase-claim"


@pytest.fixture
def aws() -> Iterator[Services]:
    with services() as held:
        yield held


def claim(aws: Services, directory: Path, cluster: str, *others: str) -> subprocess.CompletedProcess[str]:
    """Return what a primary of that cluster is answered."""
    job_flow = directory / f"{cluster}.json"
    job_flow.write_text(json.dumps({"jobFlowId": cluster}))
    given = ("--bucket=root-bucket", "--key=hbase.warmbase-claim", f"--job-flow={job_flow}", "--wait-seconds=0.01")
    places = (f"--metadata={aws.url}", f"--s3={aws.url}", f"--emr={aws.url}")
    return run_program("claim_root.py", *given, *places, *others)


def holder(aws: Services) -> str:
    return str(json.loads(aws.objects[KEY])["cluster"])


def write_claim(aws: Services, cluster: str, **changes: str) -> None:
    said = {"cluster": cluster, "region": aws.region, "account": aws.account, "claimed_at": "2026-01-01"}
    aws.objects[KEY] = json.dumps(said | changes).encode()


def test_a_root_that_nobody_holds_is_claimed_and_stays_claimed(aws: Services, tmp_path: Path) -> None:
    for said in ("nobody had claimed it", "it is this cluster's already", "it is this cluster's already"):
        done = claim(aws, tmp_path, "j-ONE")
        assert done.returncode == 0, done.stderr
        assert f"j-ONE may write to the root: {said}" in done.stderr
    assert holder(aws) == "j-ONE"
    assert all(each.startswith("AWS4-HMAC-SHA256 Credential=AKIATEST/") for each in aws.signed)


@pytest.mark.parametrize("state", ["STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING", "TERMINATING"])
def test_a_second_writer_is_refused(aws: Services, tmp_path: Path, state: str) -> None:
    write_claim(aws, "j-ONE")
    aws.states["j-ONE"] = state
    done = claim(aws, tmp_path, "j-TWO")
    assert done.returncode == 1
    assert f"the root is claimed by j-ONE in us-east-1 of account 123456789012, which is {state}" in done.stderr
    assert "fix: terminate j-ONE first" in done.stderr
    assert holder(aws) == "j-ONE"


@pytest.mark.parametrize("state", ["TERMINATED", "TERMINATED_WITH_ERRORS", None])
def test_a_claim_of_a_cluster_that_is_gone_is_taken_over(aws: Services, tmp_path: Path, state: str | None) -> None:
    write_claim(aws, "j-ONE")
    if state is not None:
        aws.states["j-ONE"] = state
    done = claim(aws, tmp_path, "j-TWO")
    assert done.returncode == 0, done.stderr
    assert "j-ONE had it, and " in done.stderr
    assert holder(aws) == "j-TWO"


def test_a_claim_of_a_young_cluster_that_emr_does_not_know_is_respected(aws: Services, tmp_path: Path) -> None:
    """The credentials may belong to another account, in which EMR does not know the cluster."""
    write_claim(aws, "j-ONE", claimed_at=datetime.now(UTC).isoformat(timespec="seconds"))
    done = claim(aws, tmp_path, "j-TWO")
    assert done.returncode == 1
    assert "EMR does not know it" in done.stderr
    assert holder(aws) == "j-ONE"


def message(*texts: str) -> bytes:
    """Return the bytes that HBase writes for these strings."""
    return b"PBUF" + b"".join(bytes((10 + 8 * place, len(text))) + text.encode() for place, text in enumerate(texts))


@pytest.mark.parametrize(
    ("active", "refused"),
    [
        (message("id-of-the-root", ""), False),
        (message("id-of-the-root", "replica1"), True),
        (message("another", ""), True),
        (b"unreadable", True),
    ],
)
def test_a_root_that_hbase_gives_to_another_cluster_is_not_claimed(
    aws: Services, tmp_path: Path, active: bytes, *, refused: bool
) -> None:
    write_claim(aws, "nobody")
    aws.objects["/root-bucket/hbase/hbase.id"] = message("id-of-the-root")
    aws.objects["/root-bucket/hbase/active.cluster.suffix.id"] = active
    done = claim(aws, tmp_path, "j-ONE")
    assert done.returncode == refused
    assert ("active.cluster.suffix.id says that" in done.stderr) == refused
    assert holder(aws) == ("nobody" if refused else "j-ONE")


THROTTLED = '{"__type":"ThrottlingException","Message":"Rate exceeded"}'


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, THROTTLED),
        (400, '{"__type":"AccessDeniedException","Message":"no"}'),
        (400, '{"__type":"InvalidRequestException","Message":"something else"}'),
        (500, "InternalServerException"),
    ],
)
def test_emr_not_answering_is_no_permission(aws: Services, tmp_path: Path, status: int, body: str) -> None:
    write_claim(aws, "j-ONE")
    aws.faults.extend([("emr", status, body)] * 20)
    done = claim(aws, tmp_path, "j-TWO")
    assert done.returncode == 1
    assert f"{status} {body}" in done.stderr
    assert holder(aws) == "j-ONE"


@pytest.mark.parametrize(
    ("service", "status", "body"),
    [
        ("emr", 400, THROTTLED),
        ("emr", 503, "ServiceUnavailable"),
        ("s3", 503, "SlowDown"),
        ("s3", 500, "InternalError"),
    ],
)
def test_a_service_that_asks_for_patience_is_asked_again(
    aws: Services, tmp_path: Path, service: str, status: int, body: str
) -> None:
    write_claim(aws, "j-ONE")
    aws.faults.extend([(service, status, body)] * 2)
    done = claim(aws, tmp_path, "j-TWO")
    assert done.returncode == 0, done.stderr
    assert holder(aws) == "j-TWO"


def test_a_root_that_hbase_has_written_to_is_nobody_s_only_if_somebody_says_so(aws: Services, tmp_path: Path) -> None:
    aws.objects["/root-bucket/hbase/hbase.id"] = b"an id"
    done = claim(aws, tmp_path, "j-ONE")
    assert done.returncode == 1
    assert "HBase has written to this root, and no claim says which cluster writes there now" in done.stderr
    assert "fix: if no cluster writes there any more, say so: warmbase claim ENV --take" in done.stderr
    assert KEY not in aws.objects
    write_claim(aws, "nobody")
    done = claim(aws, tmp_path, "j-ONE")
    assert done.returncode == 0, done.stderr
    assert "nobody had it, as somebody declared" in done.stderr
    assert holder(aws) == "j-ONE"


def test_a_claim_is_encrypted_as_its_root_is(aws: Services, tmp_path: Path) -> None:
    key = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
    assert claim(aws, tmp_path, "j-ONE", f"--kms-key={key}").returncode == 0
    assert aws.encrypted == {KEY: key}


@pytest.mark.parametrize("elsewhere", [{"region": "eu-west-1"}, {"account": "210987654321"}])
def test_a_cluster_that_cannot_be_asked_for_still_holds_it(
    aws: Services, tmp_path: Path, elsewhere: dict[str, str]
) -> None:
    write_claim(aws, "j-ONE", **elsewhere)
    done = claim(aws, tmp_path, "j-TWO")
    assert done.returncode == 1
    assert "where this cluster cannot ask whether it still runs" in done.stderr
    assert holder(aws) == "j-ONE"


@pytest.mark.parametrize("content", [b"", b"j-ONE", b"[]", b'{"cluster": "j-ONE"}'])
def test_a_claim_that_cannot_be_read_is_refused(aws: Services, tmp_path: Path, content: bytes) -> None:
    aws.objects[KEY] = content
    done = claim(aws, tmp_path, "j-TWO")
    assert done.returncode == 1
    assert "cannot read the claim at" in done.stderr
    assert aws.objects[KEY] == content


@pytest.mark.parametrize("dead", [None, "j-OLD"])
def test_one_of_several_clusters_that_claim_at_once_wins(aws: Services, tmp_path: Path, dead: str | None) -> None:
    if dead:
        write_claim(aws, dead)
        aws.states[dead] = "TERMINATED"
    clusters = [f"j-{number}" for number in range(4)]
    aws.states.update(dict.fromkeys(clusters, "BOOTSTRAPPING"))
    with ThreadPoolExecutor(len(clusters)) as pool:
        codes = [each.returncode for each in pool.map(lambda cluster: claim(aws, tmp_path, cluster), clusters)]
    assert sorted(codes) == [0, 1, 1, 1]
    assert holder(aws) == clusters[codes.index(0)]


@pytest.mark.parametrize("dead", [None, "j-OLD"])
def test_a_claim_that_changes_before_it_is_written_is_read_again(
    aws: Services, tmp_path: Path, dead: str | None
) -> None:
    """After the program reads no claim or a dead cluster's, and before it writes, a running cluster claims the root."""
    if dead:
        write_claim(aws, dead)
        aws.states[dead] = "TERMINATED"
    aws.states["j-QUICK"] = "BOOTSTRAPPING"
    aws.before_put = lambda: write_claim(aws, "j-QUICK")
    done = claim(aws, tmp_path, "j-TWO")
    assert done.returncode == 1
    assert "claimed by j-QUICK" in done.stderr
    assert holder(aws) == "j-QUICK"


def test_a_claim_that_is_deleted_while_it_is_taken_over_is_made_anew(aws: Services, tmp_path: Path) -> None:
    write_claim(aws, "j-OLD")
    aws.states["j-OLD"] = "TERMINATED"
    aws.before_put = aws.objects.clear
    done = claim(aws, tmp_path, "j-TWO")
    assert done.returncode == 0, done.stderr
    assert holder(aws) == "j-TWO"


def test_a_conflict_is_tried_again(aws: Services, tmp_path: Path) -> None:
    aws.before_put = lambda: aws.faults.append(("s3", 409, "<Code>ConditionalRequestConflict</Code>"))
    done = claim(aws, tmp_path, "j-ONE")
    assert done.returncode == 0, done.stderr
    assert holder(aws) == "j-ONE"


def test_a_conflict_without_end_is_refused(aws: Services, tmp_path: Path) -> None:
    def at_every_write() -> None:
        aws.before_put = at_every_write
        aws.faults.append(("s3", 409, "<Code>ConditionalRequestConflict</Code>"))

    aws.before_put = at_every_write
    done = claim(aws, tmp_path, "j-ONE")
    assert done.returncode == 1
    assert "changed 8 times while this cluster claimed it" in done.stderr
    assert not aws.objects


@pytest.mark.parametrize(
    ("status", "body"), [(403, "<Code>AccessDenied</Code>"), (404, "<Code>NoSuchBucket</Code>"), (503, "SlowDown")]
)
def test_s3_not_answering_is_no_permission(aws: Services, tmp_path: Path, status: int, body: str) -> None:
    aws.faults.extend([("s3", status, body)] * 20)
    done = claim(aws, tmp_path, "j-ONE")
    assert done.returncode == 1
    assert f"{status} {body}" in done.stderr


def test_nobody_listening_is_said_and_not_a_trace(aws: Services, tmp_path: Path) -> None:
    aws.port = 1
    done = claim(aws, tmp_path, "j-ONE")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "latest/api/token" in done.stderr


def test_a_node_that_does_not_say_its_cluster_claims_nothing(aws: Services, tmp_path: Path) -> None:
    places = (f"--job-flow={tmp_path}/none", f"--metadata={aws.url}", f"--s3={aws.url}")
    done = run_program("claim_root.py", "--bucket=b", "--key=k", *places)
    assert done.returncode == 1
    assert "does not say which cluster this is" in done.stderr
