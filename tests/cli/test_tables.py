"""`warmbase tables` shows each difference and its effect, asks, holds the lock, and then has nothing left to do."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner, Result

from tests.cli.test_warm import publish
from tests.hostile import NAMES
from tests.operations.deployed import Deployed
from tests.operations.test_table_changes import QUICK, Model
from warmbase.cli.operate import tables as command
from warmbase.configurations.table_ddl import planned_tables
from warmbase.ground.block import FAMILY_FORM
from warmbase.ground.errors import Refused
from warmbase.operations.aws.lock import environment_lock
from warmbase.operations.hbase.tables import TableChanges


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, here: Deployed) -> Model:
    """An HBase in memory in place of the cluster's; the clients are those of this process."""
    model = Model(most_regions=1)
    changes = TableChanges(hbase=model, journal=model.journals.table, patience=QUICK)
    monkeypatch.setattr(command, "environment_tables", lambda *_: changes)
    monkeypatch.setattr("warmbase.cli.operate.running.environment_aws", lambda *_: here.aws)
    return model


def run(here: Deployed, *options: str) -> Result:
    return CliRunner().invoke(command.tables, [str(here.file), *options])


def test_the_proposal_says_how_each_change_takes_effect_and_changes_nothing(here: Deployed, model: Model) -> None:
    model.tables["orders"]["cf"] |= {
        "BLOCKSIZE": "8192",
        "EVICT_BLOCKS_ON_CLOSE": "true",
        "hbase.rs.prefetchblocksonopen": "false",
    }
    result = run(here, "orders", "--dry-run")
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    wanted = planned_tables(here.launch)[0].families[0].attributes["BLOCKSIZE"]
    assert f"BLOCKSIZE 8192 -> {wanted}: applies to files that are written from now on" in words
    assert "hbase.rs.prefetchblocksonopen false -> not set: applies when a region is reopened" in words
    assert "the blocks of orders:cf are lost" in words
    assert f"warmbase compact {here.environment.name} orders" in words
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert model.events == []


def test_a_family_is_a_name_whatever_is_in_it(here: Deployed, model: Model) -> None:
    families = [name for name in NAMES if re.fullmatch(FAMILY_FORM, name) and name != "\ud800"]
    model.tables["orders"] = {name: {**model.tables["orders"]["cf"], "BLOCKSIZE": "8192"} for name in families}
    result = run(here, "orders", "--dry-run")
    assert result.exit_code == 0, result.output
    assert result.stdout.replace("\n", "").isprintable()
    assert "o'brien" in result.stdout


def test_every_table_is_changed_and_the_lock_is_gone(here: Deployed, model: Model) -> None:
    result = run(here, "--yes")
    assert result.exit_code == 0, result.output
    assert "reopen all of users" in model.events
    with environment_lock(here.aws, here.environment, "test"):
        pass
    assert "nothing to do" in run(here, "--yes").stdout


@pytest.mark.usefixtures("model")
def test_a_fill_that_closing_regions_would_harm_is_shown(here: Deployed) -> None:
    publish(here, 0.25, 0.5)
    words = " ".join(run(here, "--dry-run").stdout.split())
    assert "2 of 2 caches are filling" in words
    assert f"warmbase warm wait {here.environment.name}" in words


def test_a_second_operator_is_refused_by_the_lock(here: Deployed, model: Model) -> None:
    with environment_lock(here.aws, here.environment, "tables"):
        assert isinstance(run(here, "--yes").exception, Refused)
    assert model.events == []
