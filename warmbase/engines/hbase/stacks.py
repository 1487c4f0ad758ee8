"""The stack of an HBase cluster, and its dashboards and alarms for the monitoring stack."""

from __future__ import annotations

from warmbase.stacks.cluster import ClusterStack as cluster_stack  # noqa: N813 - the facet has a function of this name
from warmbase.stacks.monitoring import watched_hbase as watched

__all__ = ["cluster_stack", "watched"]
