"""warmbase prices refresh as a process, against a Pricing API on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

import warmbase.cli.size.prices
from tests.command import PROCESS, process_variables
from tests.operations.price_list.pricing_api import PricingApi
from tests.patience import HANG_SECONDS
from warmbase.facts.prices import PRICES, listed_prices
from warmbase.operations.aws.price_list import PriceRequest

PROJECT = Path(__file__).parents[2]


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROCESS, "prices", "refresh", *arguments],
        cwd=PROJECT,
        env=process_variables() | {"AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1"} | variables,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


def test_a_dry_run_answers_on_stdout_and_talks_on_stderr() -> None:
    before = {path.name for path in PRICES.iterdir()}
    with PricingApi() as api:
        result = run("--dry-run", **api.variables)
    assert result.returncode == 0, result.stderr
    assert "us-east-1: 15 prices, prices of 2026-10-26; the EMR fee is a list price" in result.stdout
    assert "1 changed by more than 0.5 %, 0 new" in result.stdout
    assert "  r8g.2xlarge EMR fee: $0.1178 → $0.106 per hour, -10 %" in result.stdout
    assert "Left out, EC2: its price is zero: r6g.xlarge" in result.stdout
    assert result.stdout.endswith("Dry run: nothing was written.\n")
    assert result.stderr.splitlines()[0] == "EC2 instances: 9 found"
    assert {path.name for path in PRICES.iterdir()} == before


def test_without_credentials_it_ends_with_1_and_says_what_to_do() -> None:
    result = run(AWS_CONFIG_FILE="none", AWS_SHARED_CREDENTIALS_FILE="none", HOME="/nowhere")
    assert result.returncode == 1
    assert result.stdout == ""
    assert "Unable to locate credentials" in result.stderr
    assert "fix: set AWS_PROFILE" in result.stderr


def test_what_was_written_is_named_and_a_second_time_there_is_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(*, region: str, dry_run: bool) -> PriceRequest:
        return PriceRequest(region=region, dry_run=dry_run, directory=tmp_path)

    monkeypatch.setattr(warmbase.cli.size.prices, "PriceRequest", elsewhere)
    with PricingApi() as api:
        for name, value in api.variables.items():
            monkeypatch.setenv(name, value)
        first = CliRunner().invoke(warmbase.cli.size.prices.prices, ["refresh"])
        listed_prices.cache_clear()
        second = CliRunner().invoke(warmbase.cli.size.prices.prices, ["refresh"])
    assert first.exit_code == second.exit_code == 0
    assert "The region had no prices before." in first.stdout
    assert f"Written: {tmp_path}/us-east-1.compute.2026-10-26.csv" in first.stdout
    assert second.stdout.endswith("Nothing to do: the files of that day already have these prices.\n")
