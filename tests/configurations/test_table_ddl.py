"""The script for the tables: it reopens regions in batches, and alters a table once."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from lab.hbase.boots.rendered import defined_tables
from tests.hostile import NAMES
from warmbase.configurations.launch import Launch
from warmbase.configurations.table_ddl import table_ddl
from warmbase.emr.cluster_spec import flattened
from warmbase.ground.block import FAMILY_FORM, FamilyTotals, Inspection, LengthHistogram

Launches = Callable[[str], Launch]
BATCH = "hbase.reopen.table.regions.progressive.batch.size.max"


def family(table: str, name: str) -> FamilyTotals:
    lengths = LengthHistogram.of([(66_000, 10)])
    return FamilyTotals(
        table=table,
        name=name,
        lengths=lengths,
        compressed_lengths=lengths,
        index_bytes=1,
        bloom_bytes=1,
        cells=1,
        rows=1,
        largest_cell_bytes=1,
        codec="none",
        encoding="NONE",
        files=1,
        regions=7 if table == "orders" else 1,
    )


def inspected(launch: Launch, *families: FamilyTotals) -> Launch:
    inspection = Inspection(root="s3://b/", inspected_at="", families=families, stored_bytes=1)
    workload = replace(launch.environment.workload, inspection=inspection)
    return replace(launch, environment=replace(launch.environment, workload=workload))


def test_the_script_stops_where_the_master_has_no_limit(launches: Launches) -> None:
    prod = launches("prod")
    script = table_ddl(prod)
    count = prod.plan.core.count
    assert f"getInt('{BATCH}', -1)" in script  # HBase's PROGRESSIVE_BATCH_SIZE_MAX_DISABLED
    assert f"if limit == -1 || limit > {count}\n" in script
    assert script.index("raise ") < script.index("\nalter ")
    assert {key: value for _, key, value in flattened(prod.settings.primary)}[BATCH] == str(count)


def test_the_script_says_above_the_change_what_it_will_do(launches: Launches) -> None:
    above = table_ddl(launches("prod")).partition("\nalter ")[0].splitlines()[-2:]
    assert "reopens all 240 regions of usertable: 1, then 2, then 4, at most" in above[0]
    assert "unavailable for a few seconds" in above[1]
    assert "Its cached blocks stay." in above[1]


def test_a_table_is_altered_once_with_all_its_families(launches: Launches) -> None:
    launch = inspected(launches("prod"), family("orders", "a"), family("users", "c"), family("orders", "b"))
    script = table_ddl(launch)
    assert script.count("\nalter '") == 2
    tables = {table.name: [member.name for member in table.families] for table in defined_tables(script)}
    assert tables == {"orders": ["a", "b"], "users": ["c"]}
    assert "all 7 regions of orders" in script
    assert "all 1 region of users" in script


LEGAL = (name for name in NAMES if re.fullmatch(FAMILY_FORM, name) and name != "\ud800")
FAMILIES = [*LEGAL, "cf'+system('id').to_s+'", "a\\\\'", "é", '\u202e#{`id`}"']
"""Names of families that HBase allows."""


@pytest.mark.parametrize("name", FAMILIES)
def test_the_name_of_a_family_is_text_to_ruby(launches: Launches, name: str) -> None:
    script = table_ddl(inspected(launches("prod"), family("orders", name)))
    [literal] = re.findall(r"NAME => ('(?:[^'\\]|\\.)*'|\"(?:\w|\\u\{[0-9a-f]+\})*\"),?$", script, re.MULTILINE)
    escape = r"\\(.)" if literal[0] == "'" else r"\\u\{(.+?)\}"
    read = (lambda found: found[1]) if literal[0] == "'" else (lambda found: chr(int(found[1], 16)))
    assert re.sub(escape, read, literal[1:-1]) == name
    assert script.replace("\n", "").isprintable()


def test_no_name_ends_a_comment(launches: Launches) -> None:
    launch = inspected(launches("prod"), family("orders\nexit", "a"))
    assert all("exit" not in line for line in table_ddl(launch).splitlines() if not line.startswith(("#", "alter ")))
