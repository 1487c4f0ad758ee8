"""Running HBase clusters: each question of an engine with the function of `warmbase/operations` that answers it."""

from __future__ import annotations

from warmbase.operations.cluster.drift import around as comparisons
from warmbase.operations.cluster.state import hbase_state as state
from warmbase.operations.deploy.tuning import tuning_of as tuning
from warmbase.operations.verify.verification import verification

__all__ = ["comparisons", "state", "tuning", "verification"]
