"""Why the cluster carries the writes that it carries, and which settings and volumes they need."""

from __future__ import annotations

from sizing import compaction, gp3, inputs, memstore, system_volume
from sizing.candidate import Candidate
from sizing.cluster import Volume
from sizing.compaction import store_writes
from sizing.explanation import Explanation, Quantity, constraint, explain
from sizing.explanations.compaction import LEAST, SELECTION, cells, compaction_explanations
from sizing.explanations.quantities import MEBIBYTE, WHOLE, computed, constant, fact, figure, pinned, setting
from sizing.pins import PINNED_BY
from sizing.system_volume import write_share
from sizing.writes import blocking_resource
from sizing.writing_server import ENCRYPTED_BYTE_CPU_SECONDS, WritingServer

__all__ = ["write_explanations"]


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
            fewest=constant(compaction, "FEWEST_FLUSHERS"),
        )
    pins = candidate.question.requirements.pins
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
        resource=computed(limit.name, "", "sizing.writes.blocking_resource"),
        capacity=Quantity(value=limit.capacity, unit=limit.unit, source="sizing.writes.write_resources"),
        per_byte=computed(limit.demand_per_byte, limit.unit.removesuffix("/s"), "sizing.writes.write_resources"),
        next_limit=computed(min(others), "B/s", "sizing.writes.write_resources"),
    )


def _encryption(server: WritingServer) -> Explanation:
    """Explain the encryption of the log, and that of store files where they are in HDFS as well."""
    data = server.data_copies > 0
    store_files = {
        "copies": fact(server.data_copies, "copies", "storage.mode"),
        "written": figure(server.settings.amplification, "", "writes.settings.amplification"),
        "stored": computed(server.cells.stored_bytes, "B", "sizing.cells.CellSizes.stored_bytes"),
    }
    return explain(
        f"(log_copies * log{' + copies * written * stored' if data else ''}) * cost / cpu",
        "With local-disk encryption, EMR makes HDFS encrypt what it transfers, at {cost}: {log_copies} of the {log} of"
        f" a cell in the log{', and {copies} of its {stored} in store files, each {written} times' if data else ''}. In"
        " all, a written cell takes {cpu}.",
        "Amazon EMR Management Guide, emr-data-encryption-options; measured in the lab, docs/lab-hdfs-encryption.md",
        log_copies=computed(server.log_copies, "copies", "sizing.system_volume.hdfs_replication"),
        log=computed(server.cells.log_bytes, "B", "sizing.cells.CellSizes.log_bytes"),
        cost=computed(1e9 * ENCRYPTED_BYTE_CPU_SECONDS, "ns/B", "sizing.writing_server.ENCRYPTED_BYTE_CPU_SECONDS"),
        cpu=computed(1e9 * server.cpu_seconds, "ns", "sizing.writing_server.WritingServer.cpu_seconds"),
        **(store_files if data else {}),
    )


def _amplification(candidate: Candidate) -> Explanation:
    server, share = candidate.writing_server, write_share(candidate.question, candidate.survivors)
    stored_bytes = server.flush_cells * server.cells.stored_bytes
    writes = store_writes(share, stored_bytes, server.settings.min_size_bytes)
    return explain(
        "merged(limit)",
        "A cell is written by its flush and again by each compaction. A flush writes a store file of {store_file}, and"
        " compactions merge files until one has all {region} of a region. Those above {limit} wait for the night.",
        f"{SELECTION}, within 15 % by day, and from 12 % below to 25 % above with nights",
        {"merged": writes.amplification_with_nights},
        store_file=computed(stored_bytes, "B", "sizing.memstore.Memstore.flush_heap_bytes"),
        region=setting(share.region_bytes, "B", "workload.stored and workload.regions"),
        limit=figure(server.settings.day_limit_bytes, "B", "writes.settings.day_limit_bytes"),
    )


def _flush_explanations(candidate: Candidate) -> dict[str, Explanation]:
    server, share = candidate.writing_server, write_share(candidate.question, candidate.survivors)
    return {
        "flush_size_bytes": explain(
            "min(most, max(whole, ceil(cells * heap / max(regions, one_region) * shortest / default)) * default)",
            "A region is flushed at {default}. If it receives more than that in {shortest}, it is flushed at a multiple"
            " of it, up to {most}, because more frequent flushes make too many small files.",
            LEAST,
            most=constant(memstore, "MOST_FLUSH_BYTES", "B"),
            default=constant(memstore, "FLUSH_SIZE_BYTES", "B"),
            shortest=constant(memstore, "SHORTEST_FLUSH_SECONDS", "s"),
            regions=setting(share.regions, "regions", "workload.regions, one surviving node's share"),
            one_region=constant(memstore, "FEWEST_REGIONS"),
            whole=WHOLE,
            **cells(candidate),
        ),
        "lower_limit": explain(
            "limit",
            "HBase starts to flush when the memstore is {limit} full. The rest takes the writes that arrive during the"
            " flush.",
            "judgement: HBase's default of 0.95 leaves hardly any room in a small memstore",
            limit=constant(memstore, "LOWER_LIMIT", "fraction"),
        ),
        "flushers": explain(
            "max(fewest, min(most, ceil(cells / utilisation * seconds / flush)))",
            "A flush of {flush} takes {seconds}, so {cells} need this many threads, each busy for {utilisation} of the"
            " time. HBase's default of {fewest} is the minimum.",
            LEAST,
            fewest=constant(compaction, "FEWEST_FLUSHERS"),
            most=constant(compaction, "MOST_FLUSHERS"),
            utilisation=constant(inputs, "UTILISATION", "fraction"),
            seconds=computed(server.flush_seconds, "s", "sizing.file_writing.FileWriting.flush_seconds"),
            flush=computed(server.flush_cells, "cells", "sizing.writing_server.WritingServer.flush_cells"),
            cells=cells(candidate)["cells"],
        ),
    }


def _system_volume(candidate: Candidate) -> dict[str, Explanation]:
    volume = next((volume for volume in candidate.layout.volumes if volume.purpose == "system"), None)
    core, server = candidate.question.requirements.cluster.core, candidate.writing_server
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
        per_cell=computed(server.log_volume_bytes, "B", "sizing.writing_server.WritingServer.log_volume_bytes"),
        utilisation=constant(inputs, "UTILISATION", "fraction"),
        mebibyte=MEBIBYTE,
        cells=rate,
    )
