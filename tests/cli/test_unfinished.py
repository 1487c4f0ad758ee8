"""`warmbase status` names each command that was interrupted, because its journal still exists."""

from __future__ import annotations

from operations.heal_journal import S3HealJournal
from operations.restart_journal import RestartJournal, S3RestartJournal
from operations.state import state
from operations.table_journal import S3TableJournal, TableChange
from tests.operations.deployed import Deployed


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
    for journal in journals:
        journal.clear()
    [after] = state(here.aws, here.environment).clusters
    assert after.unfinished == ()
