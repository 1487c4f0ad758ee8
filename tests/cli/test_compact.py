"""`warmbase compact` shows its waves, asks, holds the lock, and refuses a floor that is missed already."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from tests.operations.deployed import Deployed
from tests.operations.test_compaction_waves import REGIONS, Model
from warmbase.cli.operate import compact as command
from warmbase.ground.errors import Refused
from warmbase.ground.units import format_percent
from warmbase.operations.aws.lock import environment_lock


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, here: Deployed) -> Model:
    """An HBase in memory in place of the cluster's; the clients are those of this process."""
    model = Model(dict(REGIONS))
    monkeypatch.setattr(command, "emr_hbase", lambda *_: model)
    monkeypatch.setattr("warmbase.cli.operate.running.environment_aws", lambda *_: here.aws)
    return model


def run(here: Deployed, *options: str) -> Result:
    return CliRunner().invoke(command.compact, [str(here.file), *options])


def test_the_proposal_counts_the_waves_and_changes_nothing(here: Deployed, model: Model) -> None:
    result = run(here, "--dry-run", "--floor", "90%")
    assert result.exit_code == 0, result.output
    assert "5 regions, 1.27 KiB in all, were not compacted lately: orders" in result.stdout
    assert "3 waves of at most 2 regions" in result.stdout
    assert "must answer 90 % of its reads" in " ".join(result.stdout.split())
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert model.waves == []


def test_every_region_is_compacted_and_the_lock_is_gone(here: Deployed, model: Model) -> None:
    result = run(here, "orders", "--floor", "0.9", "--yes")
    assert result.exit_code == 0, result.output
    assert len(model.waves) == 3
    with environment_lock(here.aws, here.environment, "test"):
        pass
    assert "nothing to do" in run(here, "--yes").stdout


def test_a_second_operator_is_refused_by_the_lock(here: Deployed, model: Model) -> None:
    with environment_lock(here.aws, here.environment, "compact"):
        assert isinstance(run(here, "--yes").exception, Refused)
    assert model.waves == []


def test_without_a_floor_the_target_counts(here: Deployed, model: Model) -> None:
    wanted = here.environment.targets.hit_ratio
    model.looks = model.low = 100
    model.dip = wanted - 0.01
    error = run(here, "--yes").exception
    assert isinstance(error, Refused)
    assert f"below the floor of {format_percent(wanted)}" in str(error)


@pytest.mark.parametrize("floor", ["90", "nine", "-1"])
def test_a_floor_that_is_no_share_is_a_usage_error(here: Deployed, floor: str) -> None:
    assert run(here, "--floor", floor).exit_code == 2
