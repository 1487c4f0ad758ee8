"""The storage modes, one object each. A new mode is another module here, and its name in the registry `MODES`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizing.modes.cached import S3_CACHED
from sizing.modes.hdfs import HDFS, HDFS_REPLICATION
from sizing.modes.mode import Mode
from sizing.modes.plain import S3_PLAIN

__all__ = ["HDFS", "HDFS_REPLICATION", "MODES", "S3_CACHED", "S3_PLAIN", "Mode"]

MODES: Final[Mapping[str, Mode]] = {mode.name: mode for mode in (S3_CACHED, S3_PLAIN, HDFS)}
"""Every mode by its name, in the order in which they are compared."""
