"""Running HBase clusters: the functions of `warmbase/operations` as the functions of the facet."""

from __future__ import annotations

from warmbase.operations.cluster.drift import around as comparisons
from warmbase.operations.cluster.state import hbase_state as state
from warmbase.operations.deploy.tuning import tuning_of as tuning
from warmbase.operations.verify.verification import verification

__all__ = ["comparisons", "state", "tuning", "verification"]
