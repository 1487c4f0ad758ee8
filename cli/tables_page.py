"""The proposal of a change of tables: each difference from the plan, how it takes effect, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cli.heal_page import STEP_SECONDS
from cli.page_entry import page_entry
from cli.restart_page import GATE_SECONDS
from configurations.launch import Launch
from configurations.table_ddl import UNCACHED_FLAGS
from operations.description import DescribedCluster
from operations.table_changes import TableChanges
from operations.table_journal import TableChange
from operations.table_proposal import TableProposal
from sizing.region_server import S3_TRIP_SECONDS
from sizing.reopening import reopening
from sizing.units import format_duration

# judgement: the stages of a table read the state of the cluster, change it, and read it again.
STEPS_OF_A_TABLE: Final = 8
NEW_FILES: Final = "applies to files that are written from now on"
REOPENED: Final = "applies when a region is reopened"
NOT_SET: Final = "not set"
EFFECTS: Final = {
    "BLOCKSIZE": NEW_FILES,
    "BLOOMFILTER": f"{NEW_FILES}; NONE also applies to existing files when a region is reopened",
    "DATA_BLOCK_ENCODING": NEW_FILES,
    "COMPRESSION": NEW_FILES,
    "PREFETCH_BLOCKS_ON_OPEN": f"{REOPENED}, which reads its files into the cache",
    "CACHE_DATA_ON_WRITE": REOPENED,
    "EVICT_BLOCKS_ON_CLOSE": REOPENED,
    "BLOCKCACHE": f"{REOPENED}; if it becomes false, blocks stay in the cache until they are evicted",
    **dict.fromkeys(UNCACHED_FLAGS, REOPENED),
}
"""How each attribute takes effect. Source: HBase 2.6, HStore creates its CacheConfig, and a StoreFileWriter its
HFileContext, from the family with which its region was opened; a reader takes encoding and codec from the file, and
HStoreFile loads the filter of a file unless the family has NONE."""


def tables_page(
    cluster: DescribedCluster, proposal: TableProposal, tables: TableChanges, launch: Launch
) -> Iterator[str]:
    """Yield the page in lines of at most 80 columns, as far as the names of tables allow."""
    yield f"{launch.plan.cluster}: {cluster.id}, {cluster.state}"
    changes = proposal.changes
    yield from page_entry("current", f"{len(proposal.live.tables)} tables; {len(changes)} of them differ from the plan")
    if not changes:
        yield from page_entry("proposed", "nothing to do")
        return
    if proposal.interrupted:
        yield from page_entry("continues", f"the change of {changes[0].table}, which was interrupted")
    for change in changes:
        yield from _differences(change)
    for number, stage in enumerate(tables.stages(changes)):
        yield from page_entry("" if number else "proposed", stage.title)
    yield from _cost(proposal, launch)


def _differences(change: TableChange) -> Iterator[str]:
    """Yield each attribute of a table that changes."""
    for family, attributes in change.before.items():
        yield from page_entry("change", f"{change.table}:{family}")
        for name, value in attributes.items():
            wanted = change.wanted[family][name] or NOT_SET
            yield from page_entry("", f"{name} {value or NOT_SET} -> {wanted}: {EFFECTS[name]}")


def _cost(proposal: TableProposal, launch: Launch) -> Iterator[str]:
    changes, servers = proposal.changes, launch.plan.core.count
    batches = [reopening(proposal.regions[change.table], servers, S3_TRIP_SECONDS) for change in changes]
    seconds = sum(batch.seconds for batch in batches) + len(changes) * (
        STEPS_OF_A_TABLE * STEP_SECONDS + 2 * GATE_SECONDS
    )
    yield from page_entry(
        "time",
        f"{format_duration(seconds)}, most of it for EMR steps to start and for hit ratios to be published (estimate)",
    )
    yield from page_entry(
        "offline",
        f"each region for a few seconds while it is reopened, at most {servers} regions at a time; clients retry",
    )
    yield from _cache(changes)
    files = sorted({change.table for change in changes if _rewrites(change)})
    if files:
        yield from page_entry(
            "files",
            f"existing files keep their form until a major compaction rewrites them, which drops their cached"
            f" blocks: warmbase compact {launch.environment.name} {' '.join(files)}",
        )
    yield from page_entry("dollars", "nothing")


def _cache(changes: Sequence[TableChange]) -> Iterator[str]:
    """Yield whether cached blocks stay: when a region closes, the attributes from its last opening apply."""
    evicting = sorted(
        f"{change.table}:{family}"
        for change in changes
        for family, attributes in change.before.items()
        if attributes.get("EVICT_BLOCKS_ON_CLOSE") == "true"
    )
    if evicting:
        text = f"the blocks of {', '.join(evicting)} are lost: each region drops them when it closes for this change"
    else:
        text = "kept: a region finds its blocks again when it is reopened in place"
    yield from page_entry("cache", text)


def _rewrites(change: TableChange) -> bool:
    return any(EFFECTS[name].startswith(NEW_FILES) for attributes in change.wanted.values() for name in attributes)
