"""The launch of an analytics cluster beside prod, for tests: planned once, and with other volumes or other hosts."""

from __future__ import annotations

from functools import cache

from msgspec.structs import replace

from tests.sizing.clusters import gp3_volume
from tests.sizing.engines.trino.questions import CHOICE, with_query_targets, with_scans, with_workers
from warmbase.engines.trino.rendering import TrinoLaunch, trino_launch_of
from warmbase.engines.trino.request import TrinoChoice
from warmbase.environments.reader import read_environment

PINNED = with_workers(
    with_query_targets(with_scans(CHOICE, scanned_bytes=10 << 30), lost_nodes=0, query_seconds=None, hit_ratio=0.3),
    type="r8g.4xlarge",
    count=6,
    volumes=(replace(gp3_volume("cache", 900), count=3), gp3_volume("system", 256)),
)
"""Workers with three cache volumes each."""


@cache
def trino_launch(choice: TrinoChoice = CHOICE) -> TrinoLaunch:
    environment = replace(read_environment("prod"), analytics={choice.name: choice})
    return trino_launch_of(environment, choice)
