"""What the bootstrap actions are told: arguments from the plan, one `--key=value` each.

CloudFormation declares the arguments of a bootstrap action unique, so a key and its value are one.
"""

from __future__ import annotations

import math
from typing import Final

from configurations import layout
from facts.releases import releases
from sizing.plan import Plan
from sizing.units import MIB

__all__ = ["prepare_cache_volume_arguments"]

HBASE_STOP_SECONDS: Final = 1_260  # HBASE_STOP_TIMEOUT of 1,200 s, after which hbase-daemon.sh kills, and a minute


def prepare_cache_volume_arguments(plan: Plan) -> tuple[str, ...]:
    """Arguments of bootstrap-actions/prepare-cache-volume.sh for the core nodes of a plan.

    The time to stop is twice what the index dump takes at worst, beside HBase's own limit.
    """
    index_mib = math.ceil(plan.persistence.index_bytes / MIB)
    streamed = releases()[plan.release].index_restored_in_background
    return (
        f"--cache-volume-gib={plan.core.volume('cache').size_gib}",
        f"--system-volume-gib={plan.core.volume('system').size_gib}",
        f"--cache-mib={plan.cache.size_mib}",
        f"--index-mib={index_mib}",
        f"--index-format={'streamed' if streamed else 'chunked'}",
        f"--cache-file={layout.CACHE_FILE}",
        f"--index-file={layout.INDEX_FILE}",
        f"--stop-seconds={HBASE_STOP_SECONDS + math.ceil(2 * plan.persistence.dump_seconds)}",
    )
