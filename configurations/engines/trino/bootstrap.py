"""The bootstrap actions of an analytics cluster. It has no root of HBase, so it claims nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from configurations.bootstrap import OPEN_FILES, PROCESSES, REQUESTS, Action, volume_arguments
from configurations.engines.trino.layout import SPILL, cache_directories
from configurations.engines.trino.rendering import TrinoLaunch
from sizing.engines.trino.plan import TrinoPlan

# judgement: before Trino starts, the pages of the cache are counted where the volume is nearly full, and Alluxio reads
# their names after that; a million files of 1 MiB take less than a minute each time.
START_SECONDS: Final = 600


def actions(launch: TrinoLaunch) -> tuple[Action, ...]:
    """Return the actions in a node's order; those after the second do nothing on the coordinator's node."""
    return (
        Action(name="start-agent", arguments=()),
        Action(
            name="tune-kernel", arguments=("--user=trino", f"--open-files={OPEN_FILES}", f"--processes={PROCESSES}")
        ),
        *_of_workers(launch.plan),
    )


def _of_workers(plan: TrinoPlan) -> Iterator[Action]:
    yield Action(name="mount-volumes", arguments=tuple(volume_arguments(plan.workers)))
    yield Action(
        name="guard-trino-worker",
        arguments=(
            f"--cache-directories={','.join(cache_directories(plan))}",
            f"--cache-gib={plan.cache.size_gib // plan.cache.directories}",
            f"--spill-directory={SPILL}",
            f"--catalog={plan.catalog}",
            f"--start-seconds={START_SECONDS}",
            f"--open-files={OPEN_FILES}",
            f"--processes={PROCESSES}",
        ),
        programs={"program": "before_trino_worker.py"},
    )
    yield Action(
        name="publish-trino-metrics",
        arguments=(f"--catalog={plan.catalog}", f"--least-hit-rate={plan.least_hit_rate:.3f}"),
        programs={"program": "publish_trino_metrics.py", "requests": REQUESTS},
    )
