"""A region without a price list is priced from samples, and no estimate is presented as a list price."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from warmbase.cli.size.compare import compare
from warmbase.environments.planning import plan_of, world
from warmbase.environments.reader import read_environment
from warmbase.facts import HOME
from warmbase.facts.prices import (
    estimated_prices,
    listed_prices,
    price_table,
    priced_regions,
)
from warmbase.ground.prices import ESTIMATE

BASE = listed_prices("us-east-1")
SAMPLED = {"r8g", "r8gd", "m8g", "i8g", "im4gn"}
ESTIMATED = [region for region in priced_regions() if price_table(region).basis]
DEAREST = {"eu-central-1": 0.56848 / 0.47128, "ap-south-1": 6.608 / 5.82067, "ap-northeast-1": 0.23188 / 0.17952}


def test_ten_regions_and_more_can_be_planned_without_credentials() -> None:
    assert len(priced_regions()) >= 11
    assert {"us-east-1", *ESTIMATED} <= {*priced_regions()}
    assert not price_table("us-east-1").note.estimate
    with pytest.raises(KeyError):
        price_table("mars-1")


def test_the_samples_agree_with_the_price_list_of_us_east_1() -> None:
    """The source would not be good enough for other regions if it differed where both prices are known."""
    sampled = estimated_prices("us-east-1", BASE)
    for name, price in sampled.compute.items():
        assert price.ec2_usd_per_hour == pytest.approx(BASE.compute[name].ec2_usd_per_hour)
    rows = {"r8g.2xlarge": 0.47128, "r8gd.2xlarge": 0.58784, "m8g.xlarge": 0.17952, "i8g.xlarge": 0.3432}
    for name, usd in rows.items():
        assert BASE.compute[name].ec2_usd_per_hour == pytest.approx(usd, abs=5e-5)


@pytest.mark.parametrize("region", ESTIMATED)
def test_every_figure_is_marked(region: str) -> None:
    table = price_table(region)
    assert table.note.estimate
    assert f"--region {region}" in table.note.refresh
    assert {price.ec2_confidence for price in table.compute.values()} == {ESTIMATE}
    assert {price.emr_fee_confidence for price in table.compute.values()} == {ESTIMATE}
    assert {price.confidence for price in table.services.values()} == {ESTIMATE}


def test_sizes_of_a_family_keep_their_proportion() -> None:
    """The estimate has another size of r8g as its sample: r8g.48xlarge costs 13.64352 in eu-central-1."""
    table = price_table("eu-central-1").compute
    assert table["r8g.24xlarge"].ec2_usd_per_hour == pytest.approx(13.64352 / 2, rel=1e-4)
    assert table["r8gd.4xlarge"].ec2_usd_per_hour == pytest.approx(1.41248, rel=1e-4)


@pytest.mark.parametrize(("region", "highest"), DEAREST.items())
def test_what_was_not_sampled_costs_the_highest_ratio(region: str, highest: float) -> None:
    table = price_table(region)
    for name, price in BASE.compute.items():
        if name.partition(".")[0] not in SAMPLED:
            assert table.compute[name].ec2_usd_per_hour == pytest.approx(price.ec2_usd_per_hour * highest)
            assert table.compute[name].emr_fee_usd_per_hour == price.emr_fee_usd_per_hour
    for item, service in BASE.services.items():
        assert table.services[item].usd == pytest.approx(service.usd * highest, rel=0.005)


def test_a_family_that_the_region_does_not_sell_has_no_price() -> None:
    assert "r8gd.xlarge" not in price_table("ap-south-1").compute
    assert "r8gd.xlarge" in price_table("eu-west-1").compute


def test_a_plan_marks_every_line_of_its_bill() -> None:
    prod = read_environment("prod")
    plan = plan_of(replace(prod, region="eu-central-1"), prod.active)
    assert plan.prices.estimate
    assert all(line.estimate for line in plan.cost.lines)
    warnings = {warning.id for warning in plan.warnings}
    assert "prices-estimated" in warnings
    assert "prices-old" not in warnings  # one piece of advice about the same command is enough
    assert world(prod).prices.basis == ""
    assert not all(line.estimate for line in plan_of(prod, prod.active).cost.lines)


def test_a_comparison_says_that_its_prices_are_estimates(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text((HOME.parents[1] / "environments/dev.yaml").read_text().replace("us-east-1", "eu-west-1"))
    answer = CliRunner().invoke(compare, [str(file)])
    assert answer.exit_code == 0
    assert "ESTIMATE: us-east-1's prices" in answer.stdout
    assert "warmbase prices refresh --region eu-west-1" in answer.stdout
