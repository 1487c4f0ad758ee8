"""How long it takes to load all data by puts, bounded by the network and by the volume of the write-ahead log."""

from __future__ import annotations

from sizing.candidate import Candidate
from sizing.cluster import Volume
from sizing.inputs import LEAST_AMPLIFICATION
from sizing.system_volume import hdfs_replication


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
