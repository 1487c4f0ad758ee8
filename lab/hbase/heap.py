"""What is on the heap of a RegionServer, by class, after a full collection."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lab.hbase.cluster import LabCluster
from sizing.problem import OperationFailed

__all__ = ["Histogram", "class_histogram"]

LINE: Final = re.compile(r"^\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)", re.MULTILINE)
COLLECTION_SECONDS: Final = 60.0
PER_BLOCK: Final = 0.2
"""Of a class that a cache has for each block, a fifth as many at least: the upper levels of a skip list are a third."""
TABLE: Final = "[Ljava.util.concurrent.ConcurrentHashMap$Node;"
"""The tables of hash maps: one of them is the cache's, and made when its first block is cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Instances and bytes by class name."""

    classes: Mapping[str, tuple[int, int]]

    def growth_bytes(self, earlier: Histogram, blocks: int) -> int:
        """Bytes of classes that have grown by one for each of so many blocks, or a good part of that, and of tables."""
        grown = 0
        for name, (count, size) in self.classes.items():
            before, bytes_before = earlier.classes.get(name, (0, 0))
            if name == TABLE or count - before >= PER_BLOCK * blocks:
                grown += size - bytes_before
        return grown


def class_histogram(cluster: LabCluster, number: int = 0) -> Histogram:
    """Return what lives on that server's heap. Raises OperationFailed when the JVM does not say."""
    process_id = cluster.running[f"server-{number}"].id
    command = (str(cluster.software.java), "-m", "jdk.jcmd/sun.tools.jcmd.JCmd", str(process_id), "GC.class_histogram")
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=COLLECTION_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise OperationFailed(f"no class histogram of server {number}: {error}") from None
    return Histogram(classes={name: (int(count), int(size)) for count, size, name in LINE.findall(said)})
