"""Trino with its file-system cache on EMR: all that warmbase knows about analytics clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The type checker compares each module with the type of its facet.
    from warmbase.engines.facets import Changes, Operations, Pages, Planning, Reports, Stacks
    from warmbase.engines.trino import changes, operations, pages, planning, reports, stacks

    FACETS: tuple[Changes, Operations, Pages, Planning, Reports, Stacks] = (
        changes,
        operations,
        pages,
        planning,
        reports,
        stacks,
    )
