"""Why each figure of a plan is what it is, by the figure's path."""

from __future__ import annotations

from sizing.candidate import Candidate
from sizing.explanation import Reasons
from sizing.explanations.cache import cache_reasons, volume_reasons
from sizing.explanations.node import memory_reasons, restart_reasons
from sizing.explanations.service import choice_reasons, service_reasons, warm_up_reasons

__all__ = ["reasons"]


def reasons(candidate: Candidate) -> Reasons:
    """Reasons by path, `bucket_cache.size_mib` and the rest, in the order in which one reads a plan."""
    return {
        **choice_reasons(candidate),
        **cache_reasons(candidate),
        **volume_reasons(candidate),
        **memory_reasons(candidate),
        **service_reasons(candidate),
        **warm_up_reasons(candidate),
        **restart_reasons(candidate),
    }
