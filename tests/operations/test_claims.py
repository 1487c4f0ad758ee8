"""The claim of a root: it is shown, released when that is safe, and checked before a deployment."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from local_aws.extension import install
from tests.operations.deployed import Deployed
from tests.operations.operators import deployed_checkout
from tests.operations.other_clusters import other_cluster, problems
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.cluster import claims
from warmbase.operations.cluster.claims import NOBODY, Claim, claim_of, release
from warmbase.operations.deploy.preflight import preflight, refuse_unready
from warmbase.operations.deploy.teardown import teardown

BUCKET = "warmbase-dev-root-123456789012-us-east-1"
KEY = "hbase.warmbase-claim"
OLD, NEW = "2020-01-01T00:00:00+00:00", datetime.now(UTC).isoformat()


def claimed(here: Deployed, cluster: str, **changes: str) -> None:
    said = {"cluster": cluster, "region": "us-east-1", "account": "123456789012", "claimed_at": OLD} | changes
    write_claim(here, json.dumps(said).encode())


def claim(here: Deployed) -> Claim:
    found = claim_of(here.aws, here.environment.root)
    assert found is not None
    return found


def write_claim(here: Deployed, body: bytes) -> None:
    """Replace the claim as a person may: the bucket's policy refuses a write without a condition."""
    here.aws.s3.delete_object(Bucket=BUCKET, Key=KEY)
    here.aws.s3.put_object(Bucket=BUCKET, Key=KEY, Body=body, IfNoneMatch="*")


def test_a_claim_is_read_with_what_emr_says_of_its_cluster(here: Deployed) -> None:
    assert claim_of(here.aws, here.environment.root) is None
    claimed(here, here.cluster_id)
    found = claim(here)
    assert (found.cluster, found.state, found.holds) == (here.cluster_id, "WAITING", True)
    claimed(here, "j-UNKNOWN")
    found = claim(here)
    assert (found.state, found.holds) == (None, False)


def test_a_claim_that_cannot_be_read_is_an_error(here: Deployed) -> None:
    write_claim(here, b"[]")
    with pytest.raises(OperationFailed, match="is not a valid claim"):
        claim_of(here.aws, here.environment.root)


def test_nobody_overwrites_a_claim_without_a_condition(here: Deployed) -> None:
    claimed(here, here.cluster_id)
    with pytest.raises(ClientError, match="AccessDenied"):
        here.aws.s3.put_object(Bucket=BUCKET, Key=KEY, Body=b"{}")
    here.aws.s3.put_object(Bucket=BUCKET, Key="hbase/data/t", Body=b"other objects are HBase's to overwrite")


def test_a_claim_is_taken_only_from_a_cluster_that_is_gone(here: Deployed) -> None:
    claimed(here, here.cluster_id)
    with pytest.raises(Refused, match=rf"claimed by {here.cluster_id}, which is WAITING"):
        release(here.aws, here.environment, claim_of(here.aws, here.environment.root))
    claimed(here, "j-ELSEWHERE", account="210987654321")
    with pytest.raises(Refused, match="cannot check there whether that cluster is running"):
        release(here.aws, here.environment, claim_of(here.aws, here.environment.root))
    claimed(here, "j-UNKNOWN")
    release(here.aws, here.environment, claim_of(here.aws, here.environment.root))
    found = claim(here)
    assert (found.cluster, found.holds) == (NOBODY, False)


def test_a_claim_that_changed_meanwhile_is_left(here: Deployed) -> None:
    claimed(here, "j-UNKNOWN")
    seen = claim_of(here.aws, here.environment.root)
    claimed(here, here.cluster_id)
    with pytest.raises(Refused, match="changed while the command ran"):
        release(here.aws, here.environment, seen)
    found = claim(here)
    assert found.cluster == here.cluster_id


def test_a_root_that_nobody_has_claimed_and_hbase_has_written_to_is_not_deployed_over(here: Deployed) -> None:
    """The new cluster's own claim would refuse it, and CloudFormation roll back."""
    here.aws.ssm.delete_parameter(Name="/warmbase/dev/blue/cluster-id")
    here.aws.emr.set_termination_protection(JobFlowIds=[here.states().popitem()[0]], TerminationProtected=False)
    here.aws.emr.terminate_job_flows(JobFlowIds=list(here.states()))
    assert problems(here) == []
    here.aws.s3.put_object(Bucket=BUCKET, Key="hbase/hbase.id", Body=b"an id")
    assert problems(here) == ["claim of the root"]
    claimed(here, NOBODY)
    assert problems(here) == []


def test_a_root_that_another_cluster_has_claimed_is_not_deployed_over(here: Deployed) -> None:
    assert problems(here) == []
    other = other_cluster(here.aws, {"hbase.rootdir": "s3://elsewhere/hbase/"})
    claimed(here, other)
    assert problems(here) == ["claim of the root"]
    with pytest.raises(Refused, match=r"claim of the root  j-\w+, which is WAITING"):
        refuse_unready(
            each
            for each in preflight(here.aws, here.environment, {"blue": here.launch}, {})
            if each.name == "claim of the root"
        )


def test_a_teardown_leaves_the_claim_of_another_cluster_that_runs(here: Deployed) -> None:
    stages = teardown(here.aws, here.environment, "blue")
    [stage] = [stage for stage in stages if stage.title == "release the claim of the root"]
    other = other_cluster(here.aws, {"hbase.rootdir": "s3://elsewhere/hbase/"})
    claimed(here, other)
    assert stage.act(print) == f"{other} holds the claim, so it stays"
    assert claim(here).cluster == other


@pytest.mark.parametrize(
    ("state", "claimed_at", "holds"),
    [
        ("WAITING", OLD, True),
        # Its RegionServers still flush.
        ("TERMINATING", OLD, True),
        # EMR may add states.
        *((state, OLD, True) for state in ("RESIZING", "SUSPENDED", "")),
        ("TERMINATED", NEW, False),
        ("TERMINATED_WITH_ERRORS", NEW, False),
        (None, OLD, False),
        (None, NEW, True),
        (None, "", True),
    ],
    ids={OLD: "old", NEW: "new"}.get,
)
def test_a_cluster_that_may_still_write_holds_its_claim(
    here: Deployed,
    monkeypatch: pytest.MonkeyPatch,
    state: str | None,
    claimed_at: str,
    holds: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setattr(claims, "state_of", lambda *_: state)
    claimed(here, "j-ONE", claimed_at=claimed_at)
    found = claim(here)
    assert (found.state, found.holds) == (state, holds)
    # Nobody here can say whether a cluster of another account or region has ended.
    for elsewhere in ({"account": "210987654321"}, {"region": "eu-west-1"}):
        claimed(here, "j-ONE", claimed_at=claimed_at, **elsewhere)
        found = claim(here)
        assert (found.state, found.holds) == (None, True)


def test_a_release_names_the_running_writers_before_it_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a claim nothing refuses the release, which is the documented way back after an accident."""
    install()
    with mock_aws():
        here, world = deployed_checkout(tmp_path, monkeypatch)
        here.aws.s3.delete_object(Bucket=BUCKET, Key=KEY)
        done = world.run("A", "claim", "ENV", "--take")
        assert done.code == 0, done.text
        assert f"running   {here.cluster_id} (warmbase-dev-blue), WAITING: it writes to this root" in done.text
