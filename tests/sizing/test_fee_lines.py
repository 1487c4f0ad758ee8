"""The bill says whether EMR's fee is a list price or an estimate."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from warmbase.facts.prices import price_table
from warmbase.sizing.cost import Bill, BilledGroup, cost

TABLE = price_table("us-east-1")
GROUP = BilledGroup(role="core", instance_type="r8g.xlarge", count=2, volumes=())
BILL = Bill(
    stored_bytes=0,
    written_bytes_per_second=0.0,
    gets_per_second=0,
    custom_metrics=0,
    dashboards=0,
    alarms=0,
    interface_endpoints=0,
    kms_keys=0,
)


@pytest.mark.parametrize(
    ("confidence", "item", "basis", "table_says"),
    [
        ("estimate", "core EMR fee (estimate)", "a quarter of on demand in us-east-1", "the EMR fee is an estimate"),
        ("list", "core EMR fee", "list price", "the EMR fee is a list price"),
    ],
)
def test_the_fee_says_what_it_is(confidence: str, item: str, basis: str, table_says: str) -> None:
    compute = {name: replace(price, emr_fee_confidence=confidence) for name, price in TABLE.compute.items()}
    table = replace(TABLE, compute=compute)
    [line] = [line for line in cost([GROUP], BILL, table).lines if "EMR fee" in line.item]
    assert line.item == item
    assert line.because.endswith(basis)
    assert table_says in table.described
