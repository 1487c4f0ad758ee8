"""Why the cluster carries the writes that it carries, and which settings, compactions and volumes they need."""

from __future__ import annotations

from warmbase.sizing import gp3
from warmbase.sizing.explanation import (
    MEBIBYTE,
    WHOLE,
    Explanation,
    computed,
    constant,
    constraint,
    explain,
    figure,
    pinned,
    setting,
)
from warmbase.sizing.requirements import PINNED_BY
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.server import system_volume, writes
from warmbase.sizing.server.system_volume import write_share
from warmbase.sizing.server.writes import (
    ENCRYPTED_BYTE_CPU_SECONDS,
    blocking_resource,
    day_limit,
    night_limit,
    store_writes,
)
from warmbase.sizing.service import inputs

SELECTION = "HBase 2.6.2 ExploringCompactionPolicy, simulated"
LEAST = "HBase's default if that is enough"
WRITES = "warmbase.sizing.server.writes"


def write_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the bound of the writes, the settings of flushes and compactions, and the system volume."""
    pins = candidate.inputs.requirements.pins
    return {
        **_load(candidate),
        **{
            f"writes.settings.{name}": (pinned(pins, name) if name in PINNED_BY else None) or explanation
            for name, explanation in _settings(candidate).items()
        },
        **_system_volume(candidate),
    }


def _load(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the bottleneck, and what a written cell costs; nothing for a workload that does not write."""
    server, share = candidate.writing_server, write_share(candidate.inputs, candidate.survivors)
    if not share.cells_per_second:
        return {}
    resources = candidate.writes(candidate.count).resources
    limit = blocking_resource(resources)
    next_limit = min(other.max_bytes_per_second for other in resources if other is not limit)
    stored_bytes = server.flush_cells * server.cells.stored_bytes
    explained = {
        "writes.bottleneck": constraint(
            "capacity / per_byte <= next_limit",
            "The bottleneck of writes is {resource}. The reads leave {capacity}, and a byte of values takes {per_byte}."
            " The next resource would be used up at {next_limit}.",
            "utilisation law, with sustained limits only",
            resource=computed(limit.name, "", "warmbase.sizing.server.writes.blocking_resource"),
            capacity=computed(limit.capacity, limit.unit, "warmbase.sizing.server.writes.write_resources"),
            per_byte=computed(
                limit.demand_per_byte, limit.unit.removesuffix("/s"), "warmbase.sizing.server.writes.write_resources"
            ),
            next_limit=computed(next_limit, "B/s", "warmbase.sizing.server.writes.write_resources"),
        ),
        "writes.settings.amplification": explain(
            "merged(limit)",
            "A cell is written by its flush and again by each compaction. A flush writes a store file of {store_file},"
            " and compactions merge files until one has all {region} of a region. Those above {limit} wait for the"
            " night.",
            f"{SELECTION}, within 15 % by day, and from 12 % below to 25 % above with nights",
            {"merged": store_writes(share, stored_bytes, server.settings.min_size_bytes).amplification_with_nights},
            store_file=computed(stored_bytes, "B", f"{WRITES}.Memstore.flush_heap_bytes"),
            region=setting(share.region_bytes, "B", "workload.stored and workload.regions"),
            limit=figure(server.settings.day_limit_bytes, "B", "writes.settings.day_limit_bytes"),
        ),
    }
    if server.encryption_cpu_seconds:
        # The log is always encrypted, and store files only if they are in HDFS as well.
        data = server.data_copies > 0
        names = {
            "log_copies": computed(
                server.log_copies, "copies", "warmbase.sizing.server.system_volume.hdfs_replication"
            ),
            "log": computed(server.cells.log_bytes, "B", "warmbase.sizing.service.inputs.CellSizes.log_bytes"),
            "cost": computed(1e9 * ENCRYPTED_BYTE_CPU_SECONDS, "ns/B", f"{WRITES}.ENCRYPTED_BYTE_CPU_SECONDS"),
            "cpu": computed(1e9 * server.cpu_seconds, "ns", f"{WRITES}.WritingServer.cpu_seconds"),
        }
        if data:
            names["copies"] = computed(server.data_copies, "copies", "storage.mode")
            names["written"] = figure(server.settings.amplification, "", "writes.settings.amplification")
            names["stored"] = computed(
                server.cells.stored_bytes, "B", "warmbase.sizing.service.inputs.CellSizes.stored_bytes"
            )
        in_files = ", and {copies} of its {stored} in store files, each {written} times" if data else ""
        explained["writes.encryption_cpu_fraction"] = explain(
            f"(log_copies * log{' + copies * written * stored' if data else ''}) * cost / cpu",
            "With local-disk encryption, EMR makes HDFS encrypt what it transfers, at {cost}: {log_copies} of the {log}"
            f" of a cell in the log{in_files}. In all, a written cell takes {{cpu}}.",
            "Amazon EMR Management Guide, emr-data-encryption-options; measured in the lab,"
            " docs/lab-hdfs-encryption.md",
            **names,
        )
    return explained


def _settings(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the settings of flushes and compactions, by their names."""
    server, share = candidate.writing_server, write_share(candidate.inputs, candidate.survivors)
    has_writes = share.cells_per_second > 0
    cells = computed(share.cells_per_second, "cells/s", "warmbase.sizing.service.inputs.WriteShare.cells_per_second")
    utilisation = constant(inputs, "UTILISATION", "fraction")
    fewest_flushers = constant(writes, "FEWEST_FLUSHERS")
    fewest_compactions = constant(writes, "FEWEST_COMPACTIONS")
    flush = computed(server.flush_cells, "cells", f"{WRITES}.WritingServer.flush_cells")
    lower_bound = constant(writes, "LOWER_BOUND_BYTES", "B")
    lower = figure(server.settings.compaction_lower_bytes, "B", "writes.settings.compaction_lower_bytes")
    rewriting = {
        "cells": cells,
        "utilisation": utilisation,
        "amplification": figure(server.settings.amplification, "times", "writes.settings.amplification"),
        "whole": WHOLE,
    }
    return {
        "flush_size_bytes": explain(
            "min(most, max(whole, ceil(cells * heap / max(regions, one_region) * shortest / default)) * default)",
            "A region is flushed at {default}. If it receives more than that in {shortest}, it is flushed at a multiple"
            " of it, up to {most}, because more frequent flushes make too many small files.",
            LEAST,
            most=constant(writes, "MOST_FLUSH_BYTES", "B"),
            default=constant(writes, "FLUSH_SIZE_BYTES", "B"),
            shortest=constant(writes, "SHORTEST_FLUSH_SECONDS", "s"),
            regions=setting(share.regions, "regions", "workload.regions, one surviving node's share"),
            one_region=constant(writes, "FEWEST_REGIONS"),
            whole=WHOLE,
            cells=cells,
            heap=computed(share.cells.heap_bytes, "B", "warmbase.sizing.service.inputs.CellSizes.heap_bytes"),
        ),
        "lower_limit": explain(
            "limit",
            "HBase starts to flush when the memstore is {limit} full. The rest takes the writes that arrive during the"
            " flush.",
            "judgement: HBase's default of 0.95 leaves hardly any room in a small memstore",
            limit=constant(writes, "LOWER_LIMIT", "fraction"),
        ),
        "flushers": explain(
            "max(fewest, min(most, ceil(cells / utilisation * seconds / flush)))",
            "A flush of {flush} takes {seconds}, so {cells} need this many threads, each busy for {utilisation} of the"
            " time. HBase's default of {fewest} is the minimum.",
            LEAST,
            fewest=fewest_flushers,
            most=constant(writes, "MOST_FLUSHERS"),
            utilisation=utilisation,
            seconds=computed(
                server.files.flush_seconds(server.cells, server.flush_cells),
                "s",
                f"{WRITES}.FileWriting.flush_seconds",
            ),
            flush=flush,
            cells=cells,
        )
        if has_writes
        else explain(
            "fewest",
            "The workload does not write, so HBase's default of {fewest} is enough.",
            LEAST,
            fewest=fewest_flushers,
        ),
        "small_compactions": explain(
            "max(fewest, min(max(fewest, per_core * cores), ceil(cells / utilisation * (amplification - whole) *"
            " seconds))) - whole",
            "A thread compacts a cell in {seconds}. The server receives {cells}, and each cell is written"
            " {amplification}, the first time by its flush. One more thread runs large compactions, and small ones when"
            " it is free.",
            LEAST,
            fewest=fewest_compactions,
            per_core=constant(writes, "MOST_COMPACTIONS_PER_VCPU"),
            cores=setting(candidate.instance.vcpus, "vCPUs", f"instance type {candidate.instance.name}"),
            seconds=computed(
                server.files.compaction_seconds(server.cells), "s", f"{WRITES}.FileWriting.compaction_seconds"
            ),
            **rewriting,
        )
        if has_writes
        else explain(
            "fewest - whole",
            "The workload does not write, so {fewest} threads are enough, and one of them is for large compactions.",
            LEAST,
            fewest=fewest_compactions,
            whole=WHOLE,
        ),
        "large_compactions": explain(
            "threads",
            "{threads} thread runs the compactions that exceed HBase's default threshold for large ones.",
            LEAST,
            threads=constant(writes, "LARGE_COMPACTIONS"),
        ),
        "compaction_lower_bytes": explain(
            "max(default, up_to(cells / utilisation * (amplification - whole) * key_value, mebibyte))",
            "HBase limits compactions to this rate while stores have few files. The rate is HBase's default of"
            " {default} a second, or more if the writes would use more than {utilisation} of that.",
            LEAST,
            default=lower_bound,
            key_value=computed(
                server.cells.key_value_bytes, "B", "warmbase.sizing.workload.workload.Workload.key_value_bytes"
            ),
            mebibyte=MEBIBYTE,
            **rewriting,
        )
        if has_writes
        else explain(
            "default",
            "HBase limits compactions to its default of {default} a second while stores have few files.",
            LEAST,
            default=lower_bound,
        ),
        "compaction_higher_bytes": explain(
            "factor * lower",
            "As stores get more files, the limit rises to this rate, which is {factor} times the lower one, as in"
            " HBase's defaults.",
            LEAST,
            factor=constant(writes, "HIGHER_BOUND_FACTOR"),
            lower=lower,
        ),
        "night_bytes": explain(
            "lower",
            "By default, HBase does not limit compactions in the off-peak hours. The plan limits them to the lower"
            " rate of the day.",
            "the cache volume also serves reads at night",
            lower=lower,
        ),
        "day_limit_bytes": explain(
            "limit",
            "By day, a compaction reads at most {limit}: a quarter of what a region receives in a day, and at least"
            " {least}, so that a store has few files when the night begins."
            if night_limit(share, server.files) is not None
            else "By day, a compaction reads up to {limit}, enough to merge all files of a region. No compaction waits"
            " for the night, because HBase runs one such compaction at a time, which would not end in time.",
            SELECTION,
            limit=computed(day_limit(share, server.files), "B", f"{WRITES}.day_limit"),
            least=constant(writes, "DAY_LIMIT_BYTES", "B"),
        ),
        "min_size_bytes": explain(
            "min(default, up_to(cells * stored, mebibyte))",
            "HBase merges files that together are smaller than this, whatever their ratio. This is the store file of"
            " one flush ({cells} of {stored}), but at most HBase's default of {default}, with which smaller flushes are"
            " written more often.",
            SELECTION,
            default=constant(writes, "MOST_MIN_SIZE_BYTES", "B"),
            cells=flush,
            stored=computed(server.cells.stored_bytes, "B", "warmbase.sizing.service.inputs.CellSizes.of"),
            mebibyte=MEBIBYTE,
        ),
        "blocking_store_files": explain(
            "files",
            "HBase does not flush a store with more than {files} until a compaction has merged some. A store whose"
            " compactions keep up has fewer.",
            f"HBase's default; EMR documents 10. {SELECTION}",
            files=constant(writes, "BLOCKING_STORE_FILES", "store files"),
        ),
    }


def _system_volume(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the volume of the log, if the calculator chose it."""
    volume = next((volume for volume in candidate.layout.volumes if volume.purpose == "system"), None)
    core, server = candidate.inputs.requirements.cluster.core, candidate.writing_server
    if volume is None or core.volumes is not None or server.log is None:
        return {}
    share = write_share(candidate.inputs, candidate.survivors)
    throughput = figure(volume.throughput_mib_s, "MiB/s", "core.volumes.system.throughput_mib_s")
    included = constant(gp3, "INCLUDED_MIB_S", "MiB/s")
    most = candidate.instance.ebs_sustained_bytes_per_second
    return {
        "core.volumes.system.throughput_mib_s": constraint(
            "throughput >= included and throughput * mebibyte >= min(most - mebibyte, cells * per_cell / utilisation)",
            "The write-ahead log and the uploads to S3 write {per_cell} to this volume for each cell. The throughput"
            " carries {cells} at {utilisation} of its limit, or is what the instance sustains to all its volumes"
            " ({most}) if that is less. It is at least the {included} that gp3 includes.",
            "judgement: the parts of an upload are written to disk before they are sent",
            throughput=throughput,
            included=included,
            most=computed(float(most), "B/s", f"instance type {candidate.instance.name}"),
            per_cell=computed(server.log_volume_bytes, "B", f"{WRITES}.WritingServer.log_volume_bytes"),
            utilisation=constant(inputs, "UTILISATION", "fraction"),
            mebibyte=MEBIBYTE,
            cells=computed(
                share.cells_per_second, "cells/s", "warmbase.sizing.service.inputs.WriteShare.cells_per_second"
            ),
        )
        if share.cells_per_second
        else constraint(
            "throughput >= included",
            "The workload does not write, so the {included} that gp3 includes is enough.",
            "gp3 includes this throughput in the price of a volume",
            throughput=throughput,
            included=included,
        ),
        "core.volumes.system.size_gib": constraint(
            "size >= usual",
            "HDFS, YARN and logs get {usual}, and more if faster writes fill more logs: HBase deletes a write-ahead log"
            " up to {archived} after the last memstore that needs it is flushed.",
            "HBase 2.6.2 TimeToLiveLogCleaner",
            size=figure(volume.size_gib, "GiB", "core.volumes.system.size_gib"),
            usual=constant(system_volume, "SYSTEM_GIB", "GiB"),
            archived=constant(system_volume, "ARCHIVE_SECONDS", "s"),
        ),
    }
