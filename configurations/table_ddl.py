"""An HBase shell script that sets the blocks, filters and caching of each column family as the plan assumes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from configurations.launch import Launch
from configurations.rendering import templates
from sizing.units import KIB
from sizing.workload import Workload

TABLE: Final = "usertable"
FAMILY: Final = "cf"
"""The names of YCSB, for you to replace where no inspection names tables."""
SMALLEST_BLOCK_BYTES: Final = 8 * KIB
GET_BLOCK_BYTES: Final = 64 * KIB
SCAN_BLOCK_BYTES: Final = 128 * KIB
ROWS_PER_BLOCK: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilySettings:
    """One column family, with the encoding and compression of its blocks."""

    table: str
    family: str
    codec: str
    encoding: str


def table_ddl(launch: Launch) -> str:
    """Return the script, for `hbase shell -n`. It alters existing tables; a comment shows how to create one."""
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
    """Return the block size for a few rows, so that reading one row reads little else; scans take larger blocks.

    judgement: four rows. Each cached block costs some 540 bytes of heap, so no block is below 8 KiB; above 64 KiB,
    HBase's default, larger blocks no longer make reads cheaper.
    """
    if workload.reads.kind == "scan":
        return SCAN_BLOCK_BYTES
    block_bytes = SMALLEST_BLOCK_BYTES
    while block_bytes < min(GET_BLOCK_BYTES, ROWS_PER_BLOCK * workload.row_bytes):
        block_bytes *= 2
    return block_bytes


def _families(workload: Workload) -> tuple[FamilySettings, ...]:
    if workload.inspection is None:
        return (FamilySettings(table=TABLE, family=FAMILY, codec=workload.codec.upper(), encoding=workload.encoding),)
    return tuple(
        FamilySettings(table=family.table, family=family.name, codec=family.codec.upper(), encoding=family.encoding)
        for family in workload.inspection.families
    )
