"""An engine's part in operations: a module, which may load boto3, whose functions have the types below.

A function takes the launch or the cluster that the engine's facet of changes has returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from warmbase.engines.engine import Engine
    from warmbase.operations.aws.clients import Aws
    from warmbase.operations.aws.errors import Parts
    from warmbase.operations.aws.progress import Say
    from warmbase.operations.cluster.description import DescribedCluster
    from warmbase.operations.cluster.drift import Comparison
    from warmbase.operations.cluster.state import EngineState
    from warmbase.operations.deploy.tuning import Tuning
    from warmbase.operations.verify.check import CheckResult


class Operations(Protocol):
    """The tuning, comparison, state and verification of a running cluster."""

    def tuning(self, aws: Aws, cluster: Any, *, everything: bool = False) -> Tuning:  # noqa: ANN401 - the engine's own
        """Return the changes that lead the running cluster to today's plan; `everything` includes small ones."""

    def comparisons(self, aws: Aws, launch: Any, cluster: DescribedCluster) -> tuple[Comparison, ...]:  # noqa: ANN401 - the engine's own
        """Return the comparisons of what belongs to a running cluster and is not compared as part of its stacks."""

    def state(self, aws: Aws, launch: Any, cluster: DescribedCluster, parts: Parts) -> EngineState:  # noqa: ANN401 - the engine's own
        """Return the state of a running cluster beyond what EMR and CloudWatch say of any cluster."""

    def verification(self, aws: Aws, launch: Any, say: Say) -> tuple[CheckResult, ...]:  # noqa: ANN401 - the engine's own
        """Return the result of every check. Raises OperationFailed where AWS does not answer at all."""


def operations_of(engine: Engine) -> Operations:
    """Import the engine's facet for this room when it is first needed."""
    facet: Operations = engine.facet("operations")
    return facet
