"""The HDFS below the HBase of one EMR cluster: a step on the primary reads and moves replicas of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from operations.cluster_step import PrimaryShell
from operations.locality_heal import Locality, ServerLocality
from operations.progress import Say

STEP: Final = "heal-locality"


class EmrHdfs(Struct, frozen=True, kw_only=True):
    """Reads and changes where the blocks of a cluster's store files are."""

    primary: PrimaryShell

    def locality(self, say: Say) -> Locality:
        """Return where the blocks of every store file are now."""
        return _locality(self.primary.run(STEP, say, "locality"))

    def relocate(self, bandwidth_bytes_per_second: int, seconds: int, say: Say) -> tuple[int, Locality]:
        """Move replicas for about this many seconds; return the bytes that were moved, and the locality afterwards."""
        answer = self.primary.run(STEP, say, "relocate", str(bandwidth_bytes_per_second), str(seconds))
        return answer["moved_bytes"], _locality(answer)


def _locality(answer: Mapping[str, Any]) -> Locality:
    return Locality(
        servers={server: ServerLocality(**figures) for server, figures in answer["servers"].items()},
        in_transition=answer["in_transition"],
        bandwidth_bytes_per_second=answer["bandwidth"],
    )
