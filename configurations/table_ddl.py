"""An HBase shell script that sets block size, filters and caching of each family as the plan assumes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import jinja2
from msgspec import Struct

from warmbase.configurations.launch import Launch
from warmbase.facts.releases import releases
from warmbase.ground.units import KIB, format_size, printable
from warmbase.sizing.server.region_server import S3_TRIP_SECONDS
from warmbase.sizing.server.restart import Reopening, reopening
from warmbase.sizing.workload.workload import JITTER_FRACTION, Workload

TABLE: Final = "usertable"
FAMILY: Final = "cf"
"""The names of YCSB, for you to replace where no inspection names tables."""
BATCH_KEY: Final = "hbase.reopen.table.regions.progressive.batch.size.max"
"""The most regions of a table that the master reopens at once, set on the primary nodes."""
BEFORE_KEY: Final = "warmbase.before.load"
"""The attribute of a table in which the script for an initial load keeps the values that the table had."""
COMPACTION_ATTEMPTS: Final = 5
"""How often the script requests the major compaction of a region; HBase skips a store where another one runs."""
SMALLEST_BLOCK_BYTES: Final = 8 * KIB
GET_BLOCK_BYTES: Final = 64 * KIB
SCAN_BLOCK_BYTES: Final = 128 * KIB
ROWS_PER_BLOCK: Final = 4
BLOOM_REASONS: Final = {
    "NONE": "scans do not use Bloom filters, which would take space in L1",
    "ROW": "gets skip files that do not have the row; Bloom chunks are cached in L1",
}


UNCACHED_FLAGS: Final = (
    "hbase.rs.prefetchblocksonopen",
    "hbase.rs.cacheblocksonwrite",
    "hbase.rs.cachecompactedblocksonwrite",
)
"""The keys of hbase-site.xml that cache blocks although their family has BLOCKCACHE => 'false', before HBase 2.6.4.

Such a family sets them to false in its own configuration, which has precedence. Source: HBase 2.6.2,
CacheConfig.shouldCacheBlockOnRead and StoreUtils.createStoreConfiguration; HBASE-29623.
"""


class FamilySettings(Struct, frozen=True, kw_only=True):
    """One column family, with the attributes that the plan decides, in the order of the script.

    `configuration` has the keys of hbase-site.xml that the family overrides, with their values.
    """

    name: str
    attributes: Mapping[str, str]
    configuration: Mapping[str, str]

    @property
    def wanted(self) -> dict[str, str]:
        """Return the attributes and the configuration together; a key that the family should not set is empty."""
        return {**dict.fromkeys(UNCACHED_FLAGS, ""), **self.attributes, **self.configuration}


class TableSettings(Struct, frozen=True, kw_only=True):
    """One table: its families, the number of its regions, and how a change reopens them.

    If `names_families` is false, only the table is known, and its settings apply to all of its families.
    """

    name: str
    families: tuple[FamilySettings, ...]
    regions: int
    change: Reopening
    names_families: bool = True

    def wanted(self, families: Iterable[str]) -> dict[str, Mapping[str, str]]:
        """Return the settings that each of these families should have; families that are not known are left out."""
        if not self.names_families:
            return dict.fromkeys(families, self.families[0].wanted)
        known = {family.name: family.wanted for family in self.families}
        return {name: known[name] for name in families if name in known}


@cache
def _template(name: str) -> jinja2.Template:
    """Return the template of a script in Ruby; an undefined name in it is an error."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    # What HTML would escape is none of Ruby's business; `quoted` escapes what Ruby would evaluate.
    scripts = jinja2.Environment(  # noqa: S701
        loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True, finalize=_one_line
    )
    scripts.filters["quoted"] = quoted
    return scripts.get_template(name)


def quoted(text: str) -> str:
    """Return a string of Ruby in which Ruby evaluates nothing: between single quotes only \\ and ' have a meaning.

    Only between double quotes can Ruby read a character that must not be in a script, such as one that reverses text.
    """
    if not text.isprintable():
        return '"' + "".join(letter if letter.isalnum() else f"\\u{{{ord(letter):x}}}" for letter in text) + '"'
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _one_line(value: object) -> object:
    """Return what a template prints without line breaks, so that no comment ends early."""
    return printable(value) if isinstance(value, str) else value


def table_ddl(launch: Launch) -> str:
    """Return the script, for `hbase shell -n`. It alters existing tables; a comment shows how to create one."""
    workload = launch.environment.workload
    tables = planned_tables(launch)
    text = _template("table-ddl.rb.j2").render(
        environment=launch.environment.name,
        tables=tables,
        batch=launch.plan.core.count,
        batch_key=BATCH_KEY,
        in_s3=launch.plan.mode.keeps_data_in_s3,
        names_tables=workload.has_names,
        names_families=all(table.names_families for table in tables),
        advised=[part for part in workload.parts if advised_block_bytes(part) != part.block_bytes],
        advised_block_bytes=advised_block_bytes,
        bloom_reasons=BLOOM_REASONS,
        regions=launch.plan.regions,
        first_split_bytes=launch.plan.regions.split_bytes * (1 - JITTER_FRACTION),
        region_size=format_size(launch.plan.regions.mean_bytes),
        split_size=format_size(launch.plan.regions.split_bytes),
        cached=launch.plan.mode.has_bucket_cache,
    )
    return f"{text}\n"


def initial_load(launch: Launch) -> str:
    """Return a script, for `hbase shell -n`, that sets the tables for their initial load, and the way back."""
    text = _template("initial-load.rb.j2").render(
        environment=launch.environment.name,
        tables=planned_tables(launch),
        names_tables=launch.environment.workload.has_names,
        settings=launch.plan.bad_hours.initial_load_settings,
        before=BEFORE_KEY,
        attempts=COMPACTION_ATTEMPTS,
        cached=launch.plan.mode.has_bucket_cache,
        batch=launch.plan.core.count,
        batch_key=BATCH_KEY,
    )
    return f"{text}\n"


def planned_tables(launch: Launch) -> tuple[TableSettings, ...]:
    """Return the tables that the file or an inspection names; if none does, one with YCSB's names and all regions."""
    return tuple(_tables(launch))


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


def _tables(launch: Launch) -> Iterator[TableSettings]:
    """Yield each table with all its families: a statement for each family would reopen every region once more."""
    families, regions, whole = defaultdict[str, list[FamilySettings]](list), dict[str, int](), set[str]()
    for part in launch.environment.workload.parts:
        name, _, family_name = part.name.partition("/")
        inspected = part.inspection.families if part.inspection else ()
        for family in inspected:
            families[family.table].append(_family(launch, part, family.name, (family.codec, family.encoding)))
            regions[family.table] = max(regions.get(family.table, 0), family.regions)
        if not inspected:
            table = name or TABLE
            families[table].append(_family(launch, part, family_name or FAMILY, (part.codec, part.encoding)))
            regions[table] = part.regions
            whole |= set() if family_name else {table}
    for table, members in families.items():
        change = reopening(regions[table], launch.plan.core.count, S3_TRIP_SECONDS)
        yield TableSettings(
            name=table,
            families=tuple(members),
            regions=regions[table],
            change=change,
            names_families=table not in whole,
        )


def _family(launch: Launch, workload: Workload, name: str, form: tuple[str, str]) -> FamilySettings:
    """Return one family of a table whose store files have this codec and encoding; values are as HBase writes them."""
    codec, encoding = form
    cached = "true" if workload.cached else "false"
    attributes = {
        "BLOCKSIZE": str(workload.block_bytes),
        "BLOOMFILTER": "NONE" if workload.reads.kind == "scan" else "ROW",
        "DATA_BLOCK_ENCODING": encoding,
        "COMPRESSION": codec.upper(),
    }
    configuration = {}
    if launch.plan.mode.has_bucket_cache:
        attributes |= {
            "PREFETCH_BLOCKS_ON_OPEN": cached,
            "CACHE_DATA_ON_WRITE": cached,
            "EVICT_BLOCKS_ON_CLOSE": "false",
        }
        if not workload.cached and not releases()[launch.plan.release].honours_blockcache:
            configuration = dict.fromkeys(UNCACHED_FLAGS, "false")
    return FamilySettings(name=name, attributes=attributes | {"BLOCKCACHE": cached}, configuration=configuration)
