"""The initial load of all data: how long puts take at least, and how to set the tables meanwhile."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sizing.candidate import Candidate
from sizing.cluster import Volume
from sizing.compaction import MOST_FILES
from sizing.inputs import LEAST_AMPLIFICATION
from sizing.modes import Mode
from sizing.system_volume import hdfs_replication

COMPACTED_FILES: Final = MOST_FILES  # hbase.hstore.compaction.max: a compaction merges as many as it may
BLOCKING_FILES: Final = 200  # judgement: a load may leave many files, which one major compaction merges afterwards


class LoadSetting(Struct, frozen=True, kw_only=True):
    """A setting of a table while it is loaded.

    `usual` is HBase's default of an attribute, None for a key of the configuration. The way back restores the value
    that the table had.
    """

    key: str
    value: str
    usual: str | None
    reason: str


LOAD_SETTINGS: Final = (
    LoadSetting(
        key="DURABILITY",
        value="SKIP_WAL",
        usual="USE_DEFAULT",
        reason="puts do not wait for the write-ahead log; after a crash of a server, start the load again",
    ),
    LoadSetting(
        key="SPLIT_ENABLED",
        value="false",
        usual="true",
        reason="a table that has all its regions from the start need not split during the load",
    ),
    LoadSetting(
        key="hbase.hstore.compaction.min",
        value=str(COMPACTED_FILES),
        usual=None,
        reason="compactions merge more files at a time, so the load rewrites its data less often",
    ),
    LoadSetting(
        key="hbase.hstore.blockingStoreFiles",
        value=str(BLOCKING_FILES),
        usual=None,
        reason="puts do not wait for compactions",
    ),
    LoadSetting(
        key="hbase.hregion.majorcompaction",
        value="0",
        usual=None,
        reason="no periodic major compaction begins during the load",
    ),
)
CACHE_SETTINGS: Final = (
    LoadSetting(
        key="hbase.rs.cacheblocksonwrite",
        value="false",
        usual=None,
        reason="flushed blocks do not fill the cache, because compactions soon replace their files",
    ),
    LoadSetting(
        key="hbase.rs.prefetchblocksonopen",
        value="false",
        usual=None,
        reason="files are not read back from S3 during the load; the way back reopens regions, and prefetches them",
    ),
)


def load_bytes(candidate: Candidate) -> float:
    """Return the bytes of cells that clients put: the stored data before compression."""
    workload = candidate.question.requirements.workload
    return workload.stored_bytes * workload.compression_ratio


def log_bytes_per_second(candidate: Candidate) -> float:
    """Return the rate at which all logs accept cells; each cell is written once for each of its copies in HDFS."""
    system: Volume = next(volume for volume in candidate.layout.volumes if volume.purpose == "system")
    copies = hdfs_replication(candidate.question, candidate.count)
    return candidate.count * min(system.bytes_per_second, candidate.instance.ebs_sustained_bytes_per_second) / copies


def network_bytes_per_second(candidate: Candidate) -> float:
    """Return the rate at which the network carries cells: the log's other copies, the flush and compactions go out."""
    workload = candidate.question.requirements.workload
    copies = hdfs_replication(candidate.question, candidate.count)
    sent = copies - 1 + LEAST_AMPLIFICATION * candidate.question.mode.data_copies / workload.compression_ratio
    return candidate.count * candidate.instance.network_sustained_bytes_per_second / max(1.0, sent)


def initial_load_seconds(candidate: Candidate) -> float:
    """Return the least time of a load, at the slower of the two rates."""
    return load_bytes(candidate) / min(log_bytes_per_second(candidate), network_bytes_per_second(candidate))


def initial_load_settings(mode: Mode) -> tuple[LoadSetting, ...]:
    """Return what to set on each table while it is loaded; nothing is cached in a mode without a cache."""
    return (*LOAD_SETTINGS, *(CACHE_SETTINGS if mode.has_bucket_cache else ()))
