"""A refresh against a Pricing API over HTTP: what is asked, what is written, what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.operations.price_list.pricing_api import PricingApi
from warmbase.facts import provenance
from warmbase.facts.prices import PRICES, listed_prices
from warmbase.facts.prices.price_list import ITEMS
from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.price_list import PriceRequest, Refresh, refresh

COMPUTE, SERVICES = "us-east-1.compute.2026-10-26.csv", "us-east-1.services.2026-10-26.csv"


@pytest.fixture
def api() -> Iterator[PricingApi]:
    with PricingApi() as running:
        yield running


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a directory with the shipped price files, to write beside."""
    shutil.copytree(PRICES, tmp_path / "prices", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return tmp_path / "prices"


def refreshed(api: PricingApi, directory: Path, **request: Any) -> Refresh:
    listed_prices.cache_clear()
    return refresh(api.variables, PriceRequest(directory=directory, **{"region": "us-east-1", **request}))


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_what_is_written_is_read_back_as_the_same_figures(api: PricingApi, directory: Path) -> None:
    done = refreshed(api, directory)
    assert [path.name for path in done.written] == [SERVICES, COMPUTE]
    listed_prices.cache_clear()
    table = listed_prices("us-east-1", directory)
    assert table == done.fresh.table
    price = table.compute["r8g.2xlarge"]
    assert (price.ec2_usd_per_hour, price.emr_fee_usd_per_hour, price.emr_fee_confidence) == (0.47128, 0.106, "list")
    assert {item: price.usd for item, price in table.services.items()} == {
        "gp3-gib-month": 0.08,
        "gp3-iops-month": 0.005,
        "gp3-mib-s-month": 0.04,
        "s3-gb-month": 0.023,
        "s3-get": 4e-07,
        "s3-put": 5e-06,
        "cloudwatch-metric-month": 0.3,
        "cloudwatch-dashboard-month": 3.0,
        "cloudwatch-alarm-month": 0.1,
        "interface-endpoint-hour": 0.01,
        "kms-key-month": 1.0,
    }
    assert {price.confidence for price in table.services.values()} == {"list"}


def test_items_and_units_are_those_of_the_current_table() -> None:
    current = listed_prices("us-east-1").services
    assert {item.item: item.per for item in ITEMS} == {item: price.per for item, price in current.items()}


def test_files_say_when_the_list_was_published_and_prices_took_effect(api: PricingApi, directory: Path) -> None:
    refreshed(api, directory)
    said = "\n".join((*provenance(directory / COMPUTE), *provenance(directory / SERVICES)))
    for part in (
        "`warmbase prices refresh --region us-east-1`",
        "AmazonEC2, on-demand Linux, shared tenancy; published 2026-10-26T18:04:33Z, effective 2026-10-01",
        "ElasticMapReduce, software EMR; published 2026-10-12T20:31:05Z, effective 2026-08-01",
        "awskms: published 2026-05-06T17:22:39Z, effective 2026-05-01",
    ):
        assert part in said
    assert "e-07" not in (directory / SERVICES).read_text()
    assert (directory / COMPUTE).stat().st_mode & 0o777 == 0o644


def test_types_without_one_price_of_each_kind_are_left_out_with_the_reason(api: PricingApi, directory: Path) -> None:
    fresh = refreshed(api, directory).fresh
    assert set(fresh.table.compute) == {"r8g.2xlarge", "m8g.xlarge"}
    assert {name: fresh.omitted[name] for name in ("i4i.xlarge", "r6g.xlarge", "r8gd.xlarge", "r7g.xlarge")} == {
        "i4i.xlarge": "EC2: several prices: $0.343 (6CVN4H8QZ2PX7WKT), $0.36015 (6TQW9K3RX5MB8ZDJ)",
        "r6g.xlarge": "EC2: its price is zero",
        "r8gd.xlarge": "EC2: not sold on demand in USD",
        "r7g.xlarge": "EC2: sold by Quantity, not by hrs",
    }
    assert fresh.omitted["x8g.xlarge"] == "EMR fee: not in the price list"
    assert fresh.omitted["r8g.4xlarge"] == "EC2: not in the price list"
    assert "c5ad.2xlarge" not in fresh.omitted


def test_two_skus_that_agree_are_one_price(api: PricingApi, directory: Path) -> None:
    for each in api.products["AmazonEC2"]:
        if each["product"]["sku"] == "6TQW9K3RX5MB8ZDJ":
            [term] = each["terms"]["OnDemand"].values()
            [dimension] = term["priceDimensions"].values()
            dimension["pricePerUnit"]["USD"] = "0.343"
    assert refreshed(api, directory).fresh.table.compute["i4i.xlarge"].ec2_usd_per_hour == 0.343


def test_a_dry_run_shows_the_changes_and_writes_nothing(api: PricingApi, directory: Path) -> None:
    before = names(directory)
    done = refreshed(api, directory, dry_run=True)
    assert done.written == ()
    assert names(directory) == before
    shown = [(change.what, change.current_usd, change.new_usd) for change in done.changes]
    assert shown == [("r8g.2xlarge EMR fee", 0.1178, 0.106)]


def test_a_second_refresh_of_the_same_list_has_nothing_to_do(api: PricingApi, directory: Path) -> None:
    refreshed(api, directory)
    texts = {name: (directory / name).read_bytes() for name in (COMPUTE, SERVICES)}
    assert refreshed(api, directory).written == ()
    assert {name: (directory / name).read_bytes() for name in texts} == texts


def test_a_file_of_that_day_with_other_prices_is_not_overwritten(api: PricingApi, directory: Path) -> None:
    refreshed(api, directory)
    changed = (directory / COMPUTE).read_text().replace("0.106,", "0.107,")
    (directory / COMPUTE).write_text(changed)
    (directory / SERVICES).unlink()
    with pytest.raises(OperationFailed, match=r"2026-10-26\.csv  has other prices(.|\n)*fix: remove the file"):
        refreshed(api, directory)
    assert (directory / COMPUTE).read_text() == changed
    assert SERVICES not in names(directory)


def test_a_list_that_is_older_than_what_is_read_is_refused(api: PricingApi, directory: Path) -> None:
    (directory / COMPUTE).with_name("us-east-1.compute.2026-11-30.csv").write_text(
        (PRICES / "us-east-1.compute.2026-07-20.csv").read_text()
    )
    before = names(directory)
    with pytest.raises(OperationFailed, match=r"would not be read: us-east-1\.compute\.2026-11-30\.csv is later"):
        refreshed(api, directory)
    assert names(directory) == before


def test_an_item_that_the_list_lacks_keeps_its_row(api: PricingApi, directory: Path) -> None:
    api.products["awskms"] = []
    fresh = refreshed(api, directory).fresh
    assert fresh.unchanged == {"kms-key-month": "not in the price list"}
    assert fresh.table.services["kms-key-month"] == listed_prices("us-east-1").services["kms-key-month"]
    assert "kms-key-month: not from there (not in the price list)" in (directory / SERVICES).read_text()


def test_a_region_without_prices_gets_both_files(api: PricingApi, tmp_path: Path) -> None:
    done = refreshed(api, tmp_path)
    assert done.current is None
    assert done.changes == ()
    assert names(tmp_path) == {COMPUTE, SERVICES}


def test_a_region_without_a_row_to_keep_is_refused(api: PricingApi, tmp_path: Path) -> None:
    api.products["awskms"] = []
    with pytest.raises(OperationFailed, match="no price for kms-key-month, and no earlier file has one"):
        refreshed(api, tmp_path)
    assert names(tmp_path) == set()


def test_a_current_table_that_lacks_the_row_too_is_refused(api: PricingApi, directory: Path) -> None:
    api.products["awskms"] = []
    [services] = directory.glob("*.services.*")
    services.write_text("".join(row for row in services.open() if not row.startswith("kms-key-month")))
    with pytest.raises(OperationFailed, match="no price for kms-key-month, and no earlier file has one"):
        refreshed(api, directory)


def test_a_region_that_is_none_is_refused(api: PricingApi, tmp_path: Path) -> None:
    with pytest.raises(OperationFailed, match=r"no price for any instance type in 'mars-1'(.|\n)*fix: check"):
        refreshed(api, tmp_path, region="mars-1")


def test_usage_types_carry_the_code_of_their_region(api: PricingApi, tmp_path: Path) -> None:
    for products in api.products.values():
        for product in products:
            attributes = product["product"]["attributes"]
            if attributes["regionCode"] == "us-east-1":
                attributes["regionCode"] = "eu-west-1"
                bare = attributes["usagetype"].removeprefix("us-east-1-")
                attributes["usagetype"] = f"eu-west-1-{bare}" if bare.startswith("KMS") else f"EU-{bare}"
    table = refreshed(api, tmp_path, region="eu-west-1").fresh.table
    assert table.usd("s3-get") == 4e-07
    assert table.usd("gp3-mib-s-month") == 0.04


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "Unable to locate credentials"),
        ({"AWS_PROFILE": "nobody"}, "The config profile .nobody. could not be found"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "Could not connect to the endpoint"),
    ],
)
def test_without_credentials_or_network_it_fails_and_says_what_to_do(
    api: PricingApi, directory: Path, change: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    absent = {"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none"}
    before = names(directory)
    with pytest.raises(OperationFailed, match=f"{message}(.|\n)*fix: "):
        refresh({**api.variables, **absent, **change}, PriceRequest(region="us-east-1", directory=directory))
    assert names(directory) == before


def test_a_refusal_names_the_permission(api: PricingApi, directory: Path) -> None:
    api.refusal = "AccessDeniedException"
    with pytest.raises(OperationFailed, match=r"not authorized(.|\n)*fix: .*pricing:GetProducts"):
        refreshed(api, directory)


def test_an_answer_of_another_form_is_shown(api: PricingApi, directory: Path) -> None:
    del api.products["awskms"][0]["product"]["sku"]
    with pytest.raises(OperationFailed, match=r"unknown form(.|\n)*KeyError\('sku'\)"):
        refreshed(api, directory)


def test_when_a_disk_is_full_nothing_half_written_stays(
    api: PricingApi, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    before = names(directory)
    with pytest.raises(OperationFailed, match="No space left on device"):
        refreshed(api, directory)
    assert names(directory) == before


def test_progress_is_a_line_for_each_search(api: PricingApi, directory: Path) -> None:
    said: list[str] = []
    refresh(api.variables, PriceRequest(region="us-east-1", directory=directory, dry_run=True), said.append)
    assert said[0] == "EC2 instances: 9 found"
    assert len(said) == len({line.partition(":")[0] for line in said}) == 11
