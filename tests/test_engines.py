"""An engine's package has a facet for each room, with every function that the room asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from warmbase.changes.engine_facet import Changes, changes_of
from warmbase.cli.engine_facet import Pages, pages_of
from warmbase.engines.engine import ENGINES
from warmbase.environments.uncertainty.engine_facet import Planning, planning_of
from warmbase.operations.cluster.engine_facet import Operations, operations_of
from warmbase.reports.engine_facet import Reports, reports_of
from warmbase.stacks.engine_facet import Stacks, stacks_of

if TYPE_CHECKING:
    from warmbase.engines.hbase import changes as hbase_changes
    from warmbase.engines.hbase import operations as hbase_operations
    from warmbase.engines.hbase import planning as hbase_planning
    from warmbase.engines.hbase import reports as hbase_reports
    from warmbase.engines.hbase import stacks as hbase_stacks
    from warmbase.engines.trino import changes as trino_changes
    from warmbase.engines.trino import operations as trino_operations
    from warmbase.engines.trino import pages as trino_pages
    from warmbase.engines.trino import planning as trino_planning
    from warmbase.engines.trino import reports as trino_reports
    from warmbase.engines.trino import stacks as trino_stacks

    PLANNING: tuple[Planning, ...] = (hbase_planning, trino_planning)
    CHANGES: tuple[Changes, ...] = (hbase_changes, trino_changes)
    OPERATIONS: tuple[Operations, ...] = (hbase_operations, trino_operations)
    STACKS: tuple[Stacks, ...] = (hbase_stacks, trino_stacks)
    REPORTS: tuple[Reports, ...] = (hbase_reports, trino_reports)
    PAGES: tuple[Pages, ...] = (trino_pages,)

FACETS = {
    Planning: planning_of,
    Changes: changes_of,
    Operations: operations_of,
    Stacks: stacks_of,
    Reports: reports_of,
    Pages: pages_of,
}
WITHOUT = {("hbase", Pages)}
"""HBase's pages are the commands themselves."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("facet", FACETS, ids=lambda facet: facet.__name__)
def test_a_facet_has_every_function_that_its_room_asks_for(engine: str, facet: type[object]) -> None:
    if (engine, facet) in WITHOUT:
        return
    asked = {name for name in vars(facet) if not name.startswith("_")}
    assert asked - set(dir(FACETS[facet](ENGINES[engine]))) == set()
