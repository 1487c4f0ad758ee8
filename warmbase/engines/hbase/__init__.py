"""HBase as an engine: the functions of the rooms, which were written for it, as the facets of an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The type checker compares each module with the type of its facet.
    from warmbase.engines.facets import Changes, Operations, Planning, Reports, Stacks
    from warmbase.engines.hbase import changes, operations, planning, reports, stacks

    FACETS: tuple[Changes, Operations, Planning, Reports, Stacks] = (changes, operations, planning, reports, stacks)
