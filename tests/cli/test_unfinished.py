"""`warmbase status` names each command that was interrupted, because its journal still exists."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from msgspec.structs import replace

from tests.operations.deployed import Deployed
from warmbase.operations.aws.lock import unfinished_commands
from warmbase.operations.cluster.state import state
from warmbase.operations.hbase.heal import S3HealJournal
from warmbase.operations.hbase.rolling_restart import RestartJournal, S3RestartJournal
from warmbase.operations.hbase.table_changes import S3TableJournal, TableChange


def test_each_journal_names_an_unfinished_command(here: Deployed) -> None:
    [before] = state(here.aws, here.environment).clusters
    assert before.unfinished == ()
    bucket, identity = here.environment.in_account(here.environment.log_bucket, here.aws.account), here.cluster_id
    journals = (
        S3RestartJournal(aws=here.aws, bucket=bucket, cluster_id=identity),
        S3HealJournal(aws=here.aws, bucket=bucket, cluster_id=identity),
        S3TableJournal(aws=here.aws, bucket=bucket, cluster_id=identity),
    )
    restarts, heals, tables = journals
    restarts.write(RestartJournal(balancer_was_on=True, starts={}, hit_ratios={}, homes={}))
    heals.write(balancer_was_on=True)
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
    assert continued is not None
    assert continued[0] == f"warmbase restart {name} --rolling --available --cluster green"
    for journal in journals:
        journal.clear()
    [after] = state(here.aws, here.environment).clusters
    assert after.unfinished == ()


@pytest.mark.parametrize("code", ["AccessDenied", "403"])
def test_without_permission_for_the_log_bucket_the_rest_is_shown(
    here: Deployed, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> Any:
        raise ClientError({"Error": {"Code": code}}, "GetObject")

    launch, identity = here.launch, here.cluster_id
    monkeypatch.setattr(here.aws.s3, "get_object", refuse)
    assert unfinished_commands(here.aws, launch, identity) is None
