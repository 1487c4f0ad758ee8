"""A check that runs before a deployment, and the context that it needs."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from configurations.launch import Launch
from environments.environment import Environment
from environments.launch_record import LaunchRecord
from operations.aws import Aws


class PreflightCheck(Struct, frozen=True, kw_only=True):
    """The result of one check: what it observed and, where that prevents a deployment, the problem and the fix."""

    name: str
    detail: str
    problem: str = ""
    fix: str = ""


class PreflightContext(Struct, frozen=True, kw_only=True):
    """The clusters to be deployed, and what the checks need to know about them."""

    aws: Aws
    environment: Environment
    launches: Mapping[str, Launch]
    records: Mapping[str, LaunchRecord]

    @property
    def new(self) -> Mapping[str, Launch]:
        """Return the clusters that are not launched yet."""
        return {
            cluster_name: launch for cluster_name, launch in self.launches.items() if cluster_name not in self.records
        }
