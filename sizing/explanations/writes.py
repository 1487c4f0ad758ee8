"""Why the cluster takes the writes that it takes, and what is set and bought for them."""

from __future__ import annotations

from sizing import compaction, gp3, inputs, memstore, system_volume
from sizing.candidate import Candidate
from sizing.compaction import amplification, day_limit
from sizing.explanation import Explanation, Quantity, constraint, explain
from sizing.explanations.quantities import MEBIBYTE, WHOLE, computed, constant, figure, pinned, setting
from sizing.pins import PINNED_BY
from sizing.system_volume import write_share
from sizing.writes import blocking_resource

__all__ = ["write_explanations"]

SELECTION = "HBase 2.6.2 ExploringCompactionPolicy, simulated"
LEAST = "HBase's own default where that suffices"


def write_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the bound of the writes, the settings of flushes and compactions, and the system volume."""
    settings = {**_flush_explanations(candidate), **_compaction_explanations(candidate)}
    pins = candidate.question.requirements.pins
    return {
        "writes.bottleneck": _bottleneck(candidate),
        "writes.settings.amplification": _amplification(candidate),
        **{
            f"writes.settings.{name}": (pinned(pins, name) if name in PINNED_BY else None) or explanation
            for name, explanation in settings.items()
        },
        **_system_volume(candidate),
    }


def _bottleneck(candidate: Candidate) -> Explanation:
    resources = candidate.writes(candidate.count).resources
    limit = blocking_resource(resources)
    others = [other.max_bytes_per_second for other in resources if other is not limit]
    return constraint(
        "capacity / per_byte <= next_limit",
        "The bottleneck of writes is {resource}: beside the reads the cluster has {capacity}, of which a byte of values"
        " takes {per_byte}. The next resource would be used up at {next_limit}.",
        "utilisation law, with sustained limits only",
        resource=computed(limit.name, "", "sizing.writes.blocking_resource"),
        capacity=Quantity(value=limit.capacity, unit=limit.unit, source="sizing.writes.write_resources"),
        per_byte=computed(limit.demand_per_byte, limit.unit.removesuffix("/s"), "sizing.writes.write_resources"),
        next_limit=computed(min(others), "B/s", "sizing.writes.write_resources"),
    )


def _amplification(candidate: Candidate) -> Explanation:
    server, share = candidate.writing_server, write_share(candidate.question, candidate.survivors)
    limit_bytes = server.settings.day_limit_bytes
    largest_bytes = min(share.region_bytes, limit_bytes)
    stored_bytes = server.flush_cells * server.cells.stored_bytes
    merges = amplification(stored_bytes, server.settings.flush_size_bytes, largest_bytes)
    return explain(
        "merged(store_file, flush_size, largest) + night",
        "A cell is written by its flush and by the compactions that follow: a flush makes a store file of {store_file},"
        " and files are merged to {largest}. Files that wait for the night are written {night} more.",
        f"{SELECTION}, within 15 %",
        {"merged": amplification},
        store_file=computed(stored_bytes, "B", "sizing.memstore.Memstore.flush_heap_bytes"),
        flush_size=figure(server.settings.flush_size_bytes, "B", "writes.settings.flush_size_bytes"),
        largest=computed(largest_bytes, "B", "sizing.compaction.write_settings"),
        night=computed(round(server.settings.amplification - merges), "times", "sizing.compaction.write_settings"),
    )


def _flush_explanations(candidate: Candidate) -> dict[str, Explanation]:
    server, share = candidate.writing_server, write_share(candidate.question, candidate.survivors)
    return {
        "flush_size_bytes": explain(
            "min(most, max(whole, ceil(cells * heap / max(regions, one_region) * shortest / default)) * default)",
            "A region is flushed at {default}, or with what it takes in {shortest} of faster writes, and at {most} at"
            " most: more flushes than that make too many small files.",
            LEAST,
            most=constant(memstore, "MOST_FLUSH_BYTES", "B"),
            default=constant(memstore, "FLUSH_SIZE_BYTES", "B"),
            shortest=constant(memstore, "SHORTEST_FLUSH_SECONDS", "s"),
            regions=setting(share.regions, "regions", "workload.regions, one surviving node's share"),
            one_region=constant(memstore, "FEWEST_REGIONS"),
            whole=WHOLE,
            **_cells(candidate),
        ),
        "lower_limit": explain(
            "limit",
            "HBase starts to flush at {limit} of the memstore. What is above takes the writes that arrive meanwhile.",
            "judgement: HBase's 0.95 leaves next to nothing of a small memstore",
            limit=constant(memstore, "LOWER_LIMIT", "fraction"),
        ),
        "flushers": explain(
            "max(fewest, min(most, ceil(cells / utilisation * seconds / flush)))",
            "A flush of {flush} takes {seconds}, so {cells} need these threads at {utilisation} of their time; HBase"
            " has {fewest} by default.",
            LEAST,
            fewest=constant(compaction, "FEWEST_FLUSHERS"),
            most=constant(compaction, "MOST_FLUSHERS"),
            utilisation=constant(inputs, "UTILISATION", "fraction"),
            seconds=computed(server.flush_seconds, "s", "sizing.compaction.FileWriting.flush_seconds"),
            flush=computed(server.flush_cells, "cells", "sizing.writing_server.WritingServer.flush_cells"),
            cells=_cells(candidate)["cells"],
        ),
    }


def _compaction_explanations(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.writing_server
    rewriting = {
        "cells": _cells(candidate)["cells"],
        "utilisation": constant(inputs, "UTILISATION", "fraction"),
        "amplification": figure(server.settings.amplification, "times", "writes.settings.amplification"),
        "whole": WHOLE,
    }
    return {
        "small_compactions": explain(
            "max(fewest, min(max(fewest, per_core * cores), ceil(cells / utilisation * (amplification - whole) *"
            " seconds))) - whole",
            "A thread compacts a cell in {seconds}, and {cells} are written {amplification}, once by the flush. One of"
            " the threads is for large compactions, and takes small ones, too.",
            LEAST,
            fewest=constant(compaction, "FEWEST_COMPACTIONS"),
            per_core=constant(compaction, "MOST_COMPACTIONS_PER_VCPU"),
            cores=setting(candidate.instance.vcpus, "vCPUs", f"instance type {candidate.instance.name}"),
            seconds=computed(
                server.files.compaction_seconds(server.cells), "s", "sizing.compaction.FileWriting.compaction_seconds"
            ),
            **rewriting,
        ),
        "compaction_lower_bytes": explain(
            "max(default, up_to(cells / utilisation * (amplification - whole) * key_value, mebibyte))",
            "HBase holds compactions to this rate while stores have few files: {default} by default, or what the"
            " writes need at {utilisation} of it.",
            LEAST,
            default=constant(compaction, "LOWER_BOUND_BYTES", "B"),
            key_value=computed(server.cells.key_value_bytes, "B", "sizing.workload.Workload.key_value_bytes"),
            mebibyte=MEBIBYTE,
            **rewriting,
        ),
        "compaction_higher_bytes": explain(
            "factor * lower",
            "As stores get more files the limit rises to this rate, {factor} times the lower one as in HBase's"
            " defaults.",
            LEAST,
            factor=constant(compaction, "HIGHER_BOUND_FACTOR"),
            lower=figure(server.settings.compaction_lower_bytes, "B", "writes.settings.compaction_lower_bytes"),
        ),
        "large_compactions": explain(
            "threads",
            "{threads} thread compacts what is larger than ten flushes and a half, which by day is little.",
            LEAST,
            threads=constant(compaction, "LARGE_COMPACTIONS"),
        ),
        "night_bytes": explain(
            "lower",
            "At night, when HBase would lift its limit, compactions keep to the rate of a quiet day.",
            "the cache volume serves reads at night, too",
            lower=figure(server.settings.compaction_lower_bytes, "B", "writes.settings.compaction_lower_bytes"),
        ),
        "day_limit_bytes": _day_limit(candidate),
        "blocking_store_files": explain(
            "files",
            "A store with {files} is not flushed before a compaction; a store that keeps up has half as many.",
            f"HBase's default; EMR documents 10. {SELECTION}",
            files=constant(compaction, "BLOCKING_STORE_FILES", "store files"),
        ),
    }


def _day_limit(candidate: Candidate) -> Explanation:
    share, files = write_share(candidate.question, candidate.survivors), candidate.writing_server.files
    limit_bytes, night = day_limit(share, files)
    why = (
        "By day a compaction reads at most {limit}: {least}, or a part of what a region takes in a day, so that a"
        " store has few files when the night begins."
        if night
        else "A compaction reads at most {limit} by day, as much as a region may hold: the writes of a day are more"
        " than one compaction at a time can merge in a night, so none waits for it."
    )
    return explain(
        "limit",
        why,
        SELECTION,
        limit=computed(limit_bytes, "B", "sizing.compaction.day_limit"),
        least=constant(compaction, "DAY_LIMIT_BYTES", "B"),
    )


def _system_volume(candidate: Candidate) -> dict[str, Explanation]:
    volume = next((volume for volume in candidate.layout.volumes if volume.purpose == "system"), None)
    core, server = candidate.question.requirements.cluster.core, candidate.writing_server
    if volume is None or core.volumes is not None or server.log is None:
        return {}
    most = candidate.instance.ebs_sustained_bytes_per_second
    return {
        "core.volumes.system.throughput_mib_s": constraint(
            "throughput >= included and throughput * mebibyte >= min(most - mebibyte, cells * per_cell / utilisation)",
            "The write-ahead log and the uploads to S3 take {per_cell} of this volume for each of {cells}, at"
            " {utilisation} of its throughput; {included} are included, and the instance sustains {most}.",
            "judgement: the parts of an upload are written to disk before they are sent",
            throughput=figure(volume.throughput_mib_s, "MiB/s", "core.volumes.system.throughput_mib_s"),
            included=constant(gp3, "INCLUDED_MIB_S", "MiB/s"),
            most=computed(float(most), "B/s", f"instance type {candidate.instance.name}"),
            per_cell=computed(server.log_volume_bytes, "B", "sizing.writing_server.WritingServer.log_volume_bytes"),
            utilisation=constant(inputs, "UTILISATION", "fraction"),
            mebibyte=MEBIBYTE,
            cells=_cells(candidate)["cells"],
        ),
        "core.volumes.system.size_gib": constraint(
            "size >= usual",
            "HDFS, YARN and logs have {usual}, and more where the logs of faster writes need it: a log is deleted up to"
            " {archived} after no memstore needs it.",
            "HBase 2.6.2 TimeToLiveLogCleaner",
            size=figure(volume.size_gib, "GiB", "core.volumes.system.size_gib"),
            usual=constant(system_volume, "SYSTEM_GIB", "GiB"),
            archived=constant(system_volume, "ARCHIVE_SECONDS", "s"),
        ),
    }


def _cells(candidate: Candidate) -> dict[str, Quantity]:
    """Return the cells that one surviving server takes, and the heap of each."""
    share = write_share(candidate.question, candidate.survivors)
    return {
        "cells": computed(share.cells_per_second, "cells/s", "sizing.memstore.WriteShare.cells_per_second"),
        "heap": computed(share.cells.heap_bytes, "B", "sizing.memstore.CellSizes.heap_bytes"),
    }
