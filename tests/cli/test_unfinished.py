"""`warmbase status` names each command that was interrupted, because its journal still exists."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.operations.deployed import Deployed
from warmbase.ground.errors import OperationFailed
from warmbase.operations.cluster.journals import (
    HealJournal,
    RestartJournal,
    S3Journal,
    TableChange,
    s3_journals,
    unfinished_commands,
)
from warmbase.operations.cluster.state import state


def test_each_journal_names_an_unfinished_command(here: Deployed) -> None:
    [before] = state(here.aws, here.environment).clusters
    assert before.unfinished == ()
    bucket, identity = here.environment.in_account(here.environment.log_bucket, here.aws.account), here.cluster_id
    restarts, heals, tables = s3_journals(here.aws, bucket, identity)
    restarts.write(RestartJournal(balancer_was_on=True, starts={}, hit_ratios={}, homes={}))
    heals.write(HealJournal(balancer_was_on=True))
    tables.write(TableChange(table="orders", before={}, wanted={}))
    [now] = state(here.aws, here.environment).clusters
    name = here.environment.name
    assert now.unfinished == (
        f"warmbase restart {name} --rolling",
        f"warmbase heal {name}",
        f"warmbase tables {name}",
    )
    restarts.write(RestartJournal(balancer_was_on=True, starts={}, hit_ratios={}, homes={}, available=True))
    launch = replace(here.launch, plan=replace(here.launch.plan, cluster="green"))
    continued = unfinished_commands(here.aws, launch, identity)
    assert continued[0] == f"warmbase restart {name} --rolling --available --cluster green"
    restarts.clear()
    heals.clear()
    tables.clear()
    [after] = state(here.aws, here.environment).clusters
    assert after.unfinished == ()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"balancer_was_on": "false", "starts": {}, "hit_ratios": {}, "homes": {}}', r"Expected `bool`, got `str`"),
        (b'{"balancer_was_on": true, "starts": null, "hit_ratios": {}, "homes": {}}', r"Expected `object`, got `null`"),
        (b'{"balancer_was_on": true, "starts": {}, "hit_ratios": {}}', "missing required field `homes`"),
        (b'{"balancer_was_on": true, "starts": {}, "hit_ratios": {}, "homes": {}, "x": 1}', "unknown field `x`"),
        (b"[]", r"Expected `object`, got `array`"),
        (b"nothing", "malformed"),
    ],
)
def test_what_is_not_a_journal_is_refused_with_its_place(here: Deployed, body: bytes, reason: str) -> None:
    """A person or another version may have written it; `false` in quotes would read as true."""
    bucket = here.environment.in_account(here.environment.log_bucket, here.aws.account)
    here.aws.s3.put_object(Bucket=bucket, Key="restarts/j-1.json", Body=body)
    journal = S3Journal(here.aws, bucket, "restarts", "j-1", RestartJournal)
    with pytest.raises(OperationFailed, match=r"restarts/j-1\.json  is not the journal of a restart") as refused:
        journal.read()
    assert reason in str(refused.value)
