"""Why the cluster carries the writes that it carries, and which settings, compactions and volumes they need."""

from __future__ import annotations

from warmbase.sizing import gp3
from warmbase.sizing.explanation import Explanation, Quantity, constraint, explain
from warmbase.sizing.explanations.quantities import MEBIBYTE, WHOLE, computed, constant, fact, figure, pinned, setting
from warmbase.sizing.requirements import PINNED_BY, Volume
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.server import system_volume, write_path
from warmbase.sizing.server.system_volume import write_share
from warmbase.sizing.server.write_path import (
    ENCRYPTED_BYTE_CPU_SECONDS,
    WritingServer,
    day_limit,
    has_night,
    store_writes,
)
from warmbase.sizing.server.writes import blocking_resource
from warmbase.sizing.service import inputs

SELECTION = "HBase 2.6.2 ExploringCompactionPolicy, simulated"
LEAST = "HBase's default if that is enough"


def compaction_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the threads, the limits and the choice of files of compactions, each by its setting."""
    of_rate = {**_threads(candidate), **_limits(candidate)}
    return of_rate | _merges(candidate) | ({} if cells(candidate)["cells"].value else _without_writes())


def cells(candidate: Candidate) -> dict[str, Quantity]:
    """Return the cells that one surviving server takes, and the heap of each."""
    share = write_share(candidate.inputs, candidate.survivors)
    return {
        "cells": computed(
            share.cells_per_second, "cells/s", "warmbase.sizing.service.inputs.WriteShare.cells_per_second"
        ),
        "heap": computed(share.cells.heap_bytes, "B", "warmbase.sizing.service.inputs.CellSizes.heap_bytes"),
    }


def _threads(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.writing_server
    return {
        "small_compactions": explain(
            "max(fewest, min(max(fewest, per_core * cores), ceil(cells / utilisation * (amplification - whole) *"
            " seconds))) - whole",
            "A thread compacts a cell in {seconds}. The server receives {cells}, and each cell is written"
            " {amplification}, the first time by its flush. One more thread runs large compactions, and small ones when"
            " it is free.",
            LEAST,
            fewest=constant(write_path, "FEWEST_COMPACTIONS"),
            per_core=constant(write_path, "MOST_COMPACTIONS_PER_VCPU"),
            cores=setting(candidate.instance.vcpus, "vCPUs", f"instance type {candidate.instance.name}"),
            seconds=computed(
                server.files.compaction_seconds(server.cells),
                "s",
                "warmbase.sizing.server.write_path.FileWriting.compaction_seconds",
            ),
            **_rewriting(candidate),
        ),
        "large_compactions": explain(
            "threads",
            "{threads} thread runs the compactions that exceed HBase's default threshold for large ones.",
            LEAST,
            threads=constant(write_path, "LARGE_COMPACTIONS"),
        ),
    }


def _limits(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.writing_server
    return {
        "compaction_lower_bytes": explain(
            "max(default, up_to(cells / utilisation * (amplification - whole) * key_value, mebibyte))",
            "HBase limits compactions to this rate while stores have few files. The rate is HBase's default of"
            " {default} a second, or more if the writes would use more than {utilisation} of that.",
            LEAST,
            default=constant(write_path, "LOWER_BOUND_BYTES", "B"),
            key_value=computed(
                server.cells.key_value_bytes, "B", "warmbase.sizing.workload.workload.Workload.key_value_bytes"
            ),
            mebibyte=MEBIBYTE,
            **_rewriting(candidate),
        ),
        "compaction_higher_bytes": explain(
            "factor * lower",
            "As stores get more files, the limit rises to this rate, which is {factor} times the lower one, as in"
            " HBase's defaults.",
            LEAST,
            factor=constant(write_path, "HIGHER_BOUND_FACTOR"),
            lower=figure(server.settings.compaction_lower_bytes, "B", "writes.settings.compaction_lower_bytes"),
        ),
        "night_bytes": explain(
            "lower",
            "By default, HBase does not limit compactions in the off-peak hours. The plan limits them to the lower"
            " rate of the day.",
            "the cache volume also serves reads at night",
            lower=figure(server.settings.compaction_lower_bytes, "B", "writes.settings.compaction_lower_bytes"),
        ),
    }


def _merges(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.writing_server
    return {
        "day_limit_bytes": _day_limit(candidate),
        "min_size_bytes": explain(
            "min(default, up_to(cells * stored, mebibyte))",
            "HBase merges files that together are smaller than this, whatever their ratio. This is the store file of"
            " one flush ({cells} of {stored}), but at most HBase's default of {default}, with which smaller flushes are"
            " written more often.",
            SELECTION,
            default=constant(write_path, "MOST_MIN_SIZE_BYTES", "B"),
            cells=computed(server.flush_cells, "cells", "warmbase.sizing.server.write_path.WritingServer.flush_cells"),
            stored=computed(server.cells.stored_bytes, "B", "warmbase.sizing.service.inputs.CellSizes.of"),
            mebibyte=MEBIBYTE,
        ),
        "blocking_store_files": explain(
            "files",
            "HBase does not flush a store with more than {files} until a compaction has merged some. A store whose"
            " compactions keep up has fewer.",
            f"HBase's default; EMR documents 10. {SELECTION}",
            files=constant(write_path, "BLOCKING_STORE_FILES", "store files"),
        ),
    }


def _rewriting(candidate: Candidate) -> dict[str, Quantity]:
    """Return the rate of the cells that compactions rewrite, and how often each cell is written."""
    return {
        "cells": cells(candidate)["cells"],
        "utilisation": constant(inputs, "UTILISATION", "fraction"),
        "amplification": figure(
            candidate.writing_server.settings.amplification, "times", "writes.settings.amplification"
        ),
        "whole": WHOLE,
    }


def _day_limit(candidate: Candidate) -> Explanation:
    share, files = write_share(candidate.inputs, candidate.survivors), candidate.writing_server.files
    limit_bytes = day_limit(share, files)
    why = (
        "By day, a compaction reads at most {limit}: a quarter of what a region receives in a day, and at least"
        " {least}, so that a store has few files when the night begins."
        if has_night(share, files)
        else "By day, a compaction reads up to {limit}, enough to merge all files of a region. No compaction waits for"
        " the night, because HBase runs one such compaction at a time, which would not end in time."
    )
    return explain(
        "limit",
        why,
        SELECTION,
        limit=computed(limit_bytes, "B", "warmbase.sizing.server.write_path.day_limit"),
        least=constant(write_path, "DAY_LIMIT_BYTES", "B"),
    )


def _without_writes() -> dict[str, Explanation]:
    """Return the explanations of the settings that follow from the rate of writes, for a workload without any."""
    return {
        "small_compactions": explain(
            "fewest - whole",
            "The workload does not write, so {fewest} threads are enough, and one of them is for large compactions.",
            LEAST,
            fewest=constant(write_path, "FEWEST_COMPACTIONS"),
            whole=WHOLE,
        ),
        "compaction_lower_bytes": explain(
            "default",
            "HBase limits compactions to its default of {default} a second while stores have few files.",
            LEAST,
            default=constant(write_path, "LOWER_BOUND_BYTES", "B"),
        ),
    }


def write_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the bound of the writes, the settings of flushes and compactions, and the system volume."""
    settings = {
        **_flush_explanations(candidate),
        **compaction_explanations(candidate),
    }
    if not cells(candidate)["cells"].value:
        settings["flushers"] = explain(
            "fewest",
            "The workload does not write, so HBase's default of {fewest} is enough.",
            LEAST,
            fewest=constant(write_path, "FEWEST_FLUSHERS"),
        )
    pins = candidate.inputs.requirements.pins
    return {
        **_load(candidate),
        **{
            f"writes.settings.{name}": (pinned(pins, name) if name in PINNED_BY else None) or explanation
            for name, explanation in settings.items()
        },
        **_system_volume(candidate),
    }


def _load(candidate: Candidate) -> dict[str, Explanation]:
    if not cells(candidate)["cells"].value:
        return {}
    server = candidate.writing_server
    return {
        "writes.bottleneck": _bottleneck(candidate),
        "writes.settings.amplification": _amplification(candidate),
        **({"writes.encryption_cpu_fraction": _encryption(server)} if server.encryption_cpu_seconds else {}),
    }


def _bottleneck(candidate: Candidate) -> Explanation:
    resources = candidate.writes(candidate.count).resources
    limit = blocking_resource(resources)
    others = [other.max_bytes_per_second for other in resources if other is not limit]
    return constraint(
        "capacity / per_byte <= next_limit",
        "The bottleneck of writes is {resource}. The reads leave {capacity}, and a byte of values takes {per_byte}. The"
        " next resource would be used up at {next_limit}.",
        "utilisation law, with sustained limits only",
        resource=computed(limit.name, "", "warmbase.sizing.server.writes.blocking_resource"),
        capacity=Quantity(
            value=limit.capacity, unit=limit.unit, source="warmbase.sizing.server.writes.write_resources"
        ),
        per_byte=computed(
            limit.demand_per_byte, limit.unit.removesuffix("/s"), "warmbase.sizing.server.writes.write_resources"
        ),
        next_limit=computed(min(others), "B/s", "warmbase.sizing.server.writes.write_resources"),
    )


def _encryption(server: WritingServer) -> Explanation:
    """Explain the encryption of the log, and that of store files where they are in HDFS as well."""
    data = server.data_copies > 0
    store_files = {
        "copies": fact(server.data_copies, "copies", "storage.mode"),
        "written": figure(server.settings.amplification, "", "writes.settings.amplification"),
        "stored": computed(server.cells.stored_bytes, "B", "warmbase.sizing.service.inputs.CellSizes.stored_bytes"),
    }
    return explain(
        f"(log_copies * log{' + copies * written * stored' if data else ''}) * cost / cpu",
        "With local-disk encryption, EMR makes HDFS encrypt what it transfers, at {cost}: {log_copies} of the {log} of"
        f" a cell in the log{', and {copies} of its {stored} in store files, each {written} times' if data else ''}. In"
        " all, a written cell takes {cpu}.",
        "Amazon EMR Management Guide, emr-data-encryption-options; measured in the lab, docs/lab-hdfs-encryption.md",
        log_copies=computed(server.log_copies, "copies", "warmbase.sizing.server.system_volume.hdfs_replication"),
        log=computed(server.cells.log_bytes, "B", "warmbase.sizing.service.inputs.CellSizes.log_bytes"),
        cost=computed(
            1e9 * ENCRYPTED_BYTE_CPU_SECONDS, "ns/B", "warmbase.sizing.server.write_path.ENCRYPTED_BYTE_CPU_SECONDS"
        ),
        cpu=computed(1e9 * server.cpu_seconds, "ns", "warmbase.sizing.server.write_path.WritingServer.cpu_seconds"),
        **(store_files if data else {}),
    )


def _amplification(candidate: Candidate) -> Explanation:
    server, share = candidate.writing_server, write_share(candidate.inputs, candidate.survivors)
    stored_bytes = server.flush_cells * server.cells.stored_bytes
    writes = store_writes(share, stored_bytes, server.settings.min_size_bytes)
    return explain(
        "merged(limit)",
        "A cell is written by its flush and again by each compaction. A flush writes a store file of {store_file}, and"
        " compactions merge files until one has all {region} of a region. Those above {limit} wait for the night.",
        f"{SELECTION}, within 15 % by day, and from 12 % below to 25 % above with nights",
        {"merged": writes.amplification_with_nights},
        store_file=computed(stored_bytes, "B", "warmbase.sizing.server.write_path.Memstore.flush_heap_bytes"),
        region=setting(share.region_bytes, "B", "workload.stored and workload.regions"),
        limit=figure(server.settings.day_limit_bytes, "B", "writes.settings.day_limit_bytes"),
    )


def _flush_explanations(candidate: Candidate) -> dict[str, Explanation]:
    server, share = candidate.writing_server, write_share(candidate.inputs, candidate.survivors)
    return {
        "flush_size_bytes": explain(
            "min(most, max(whole, ceil(cells * heap / max(regions, one_region) * shortest / default)) * default)",
            "A region is flushed at {default}. If it receives more than that in {shortest}, it is flushed at a multiple"
            " of it, up to {most}, because more frequent flushes make too many small files.",
            LEAST,
            most=constant(write_path, "MOST_FLUSH_BYTES", "B"),
            default=constant(write_path, "FLUSH_SIZE_BYTES", "B"),
            shortest=constant(write_path, "SHORTEST_FLUSH_SECONDS", "s"),
            regions=setting(share.regions, "regions", "workload.regions, one surviving node's share"),
            one_region=constant(write_path, "FEWEST_REGIONS"),
            whole=WHOLE,
            **cells(candidate),
        ),
        "lower_limit": explain(
            "limit",
            "HBase starts to flush when the memstore is {limit} full. The rest takes the writes that arrive during the"
            " flush.",
            "judgement: HBase's default of 0.95 leaves hardly any room in a small memstore",
            limit=constant(write_path, "LOWER_LIMIT", "fraction"),
        ),
        "flushers": explain(
            "max(fewest, min(most, ceil(cells / utilisation * seconds / flush)))",
            "A flush of {flush} takes {seconds}, so {cells} need this many threads, each busy for {utilisation} of the"
            " time. HBase's default of {fewest} is the minimum.",
            LEAST,
            fewest=constant(write_path, "FEWEST_FLUSHERS"),
            most=constant(write_path, "MOST_FLUSHERS"),
            utilisation=constant(inputs, "UTILISATION", "fraction"),
            seconds=computed(server.flush_seconds, "s", "warmbase.sizing.server.write_path.FileWriting.flush_seconds"),
            flush=computed(server.flush_cells, "cells", "warmbase.sizing.server.write_path.WritingServer.flush_cells"),
            cells=cells(candidate)["cells"],
        ),
    }


def _system_volume(candidate: Candidate) -> dict[str, Explanation]:
    volume = next((volume for volume in candidate.layout.volumes if volume.purpose == "system"), None)
    core, server = candidate.inputs.requirements.cluster.core, candidate.writing_server
    if volume is None or core.volumes is not None or server.log is None:
        return {}
    return {
        "core.volumes.system.throughput_mib_s": _system_throughput(candidate, volume),
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


def _system_throughput(candidate: Candidate, volume: Volume) -> Explanation:
    server, rate = candidate.writing_server, cells(candidate)["cells"]
    throughput = figure(volume.throughput_mib_s, "MiB/s", "core.volumes.system.throughput_mib_s")
    included = constant(gp3, "INCLUDED_MIB_S", "MiB/s")
    if not rate.value:
        return constraint(
            "throughput >= included",
            "The workload does not write, so the {included} that gp3 includes is enough.",
            "gp3 includes this throughput in the price of a volume",
            throughput=throughput,
            included=included,
        )
    most = candidate.instance.ebs_sustained_bytes_per_second
    return constraint(
        "throughput >= included and throughput * mebibyte >= min(most - mebibyte, cells * per_cell / utilisation)",
        "The write-ahead log and the uploads to S3 write {per_cell} to this volume for each cell. The throughput"
        " carries {cells} at {utilisation} of its limit, or is what the instance sustains to all its volumes ({most})"
        " if that is less. It is at least the {included} that gp3 includes.",
        "judgement: the parts of an upload are written to disk before they are sent",
        throughput=throughput,
        included=included,
        most=computed(float(most), "B/s", f"instance type {candidate.instance.name}"),
        per_cell=computed(
            server.log_volume_bytes, "B", "warmbase.sizing.server.write_path.WritingServer.log_volume_bytes"
        ),
        utilisation=constant(inputs, "UTILISATION", "fraction"),
        mebibyte=MEBIBYTE,
        cells=rate,
    )
