"""Tables as the plan takes them to be: an HBase shell script that sets blocks, filters and caching of each family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from configurations.launch import Launch
from configurations.rendering import templates
from sizing.units import KIB
from sizing.workload import Workload

__all__ = ["FamilySettings", "advised_block_bytes", "table_ddl"]

TABLE: Final = "usertable"
FAMILY: Final = "cf"
"""Where no inspection names tables: YCSB's own, to be changed at the head of the script."""
SMALLEST_BLOCK_BYTES: Final = 8 * KIB
GET_BLOCK_BYTES: Final = 64 * KIB
SCAN_BLOCK_BYTES: Final = 128 * KIB
ROWS_PER_BLOCK: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilySettings:
    """One column family: how it is stored, and how its blocks are cached."""

    table: str
    family: str
    codec: str
    encoding: str


def table_ddl(launch: Launch) -> str:
    """The script, for `hbase shell -n`. It alters tables that exist; a comment creates one with its regions."""
    workload = launch.environment.workload
    text = (
        templates()
        .get_template("table-ddl.rb.j2")
        .render(
            environment=launch.environment.name,
            families=_families(workload),
            inspected=workload.inspection is not None,
            block_bytes=workload.block_bytes,
            advised_bytes=advised_block_bytes(workload),
            regions=workload.regions,
            bloom="NONE" if workload.reads.kind == "scan" else "ROW",
            kind=workload.reads.kind,
            cached=launch.plan.mode.has_bucket_cache,
            row_bytes=workload.row_bytes,
        )
    )
    return f"{text}\n"


def advised_block_bytes(workload: Workload) -> int:
    """A block that holds a few rows, so that a read of one brings little else; larger for scans.

    judgement: four rows. Each block costs some 540 bytes of heap when it is cached, so none is below 8 KiB; 64 KiB,
    HBase's default, is where reading more stops to cost less.
    """
    if workload.reads.kind == "scan":
        return SCAN_BLOCK_BYTES
    wanted = SMALLEST_BLOCK_BYTES
    while wanted < min(GET_BLOCK_BYTES, ROWS_PER_BLOCK * workload.row_bytes):
        wanted *= 2
    return wanted


def _families(workload: Workload) -> tuple[FamilySettings, ...]:
    if workload.inspection is None:
        return (FamilySettings(table=TABLE, family=FAMILY, codec=workload.codec.upper(), encoding=workload.encoding),)
    return tuple(
        FamilySettings(table=family.table, family=family.name, codec=family.codec.upper(), encoding=family.encoding)
        for family in workload.inspection.families
    )
