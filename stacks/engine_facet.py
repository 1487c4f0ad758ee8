"""An engine's part in the CDK app: a module whose functions have the types below.

A function takes the launch that the engine's facet of changes has returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import aws_cdk as cdk
    from constructs import Construct

    from warmbase.engines.engine import Engine
    from warmbase.environments.launch_record import LaunchRecord
    from warmbase.stacks.monitoring import Watched
    from warmbase.stacks.network import NetworkStack
    from warmbase.stacks.storage import StorageStack


class Stacks(Protocol):
    """The stack of a cluster, and its dashboards, alarms and notifications."""

    def cluster_stack(
        self,
        scope: Construct,
        launch: Any,  # noqa: ANN401 - the engine's own
        network: NetworkStack,
        storage: StorageStack,
        record: LaunchRecord | None = None,
    ) -> cdk.Stack:
        """Return the stack of a cluster: from the launch or, once the cluster is recorded, from its record alone."""

    def watched(self, launch: Any) -> Watched:  # noqa: ANN401 - the engine's own
        """Return the dashboards, alarms and notifications of a cluster."""


def stacks_of(engine: Engine) -> Stacks:
    """Import the engine's facet for this room when it is first needed."""
    facet: Stacks = engine.facet("stacks")
    return facet
