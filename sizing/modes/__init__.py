"""The storage modes, each of which is one object.

A new mode needs a module here and its place in `MODES`, a template in `configurations/templates/hbase-site/`, and its
name in the schema (`environments/reader/schema.py`, from which `environments/schema.json` is generated). A room changes
only if the mode has something that no other mode has: another kind of data volume (`sizing/disks.py`), dashboard
(`dashboards/boards.py`), notification (`dashboards/composite_alarms.py`) or teardown step
(`operations/teardown_steps.py`).
"""

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
