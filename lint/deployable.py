"""From an environment to what may be deployed: planned, rendered, and nothing wrong with it."""

from __future__ import annotations

from configurations.launch import Launch, launch_of
from environments.environment import Environment
from environments.reader import shared_roots
from lint.gate import refuse_errors
from sizing.cluster import ClusterChoice
from sizing.problem import InvalidInput

__all__ = ["deployable_launch"]


def deployable_launch(environment: Environment, cluster: ClusterChoice) -> Launch:
    """As `launch_of`, without an error that lint finds.

    Raises InvalidInput for those, and for a root that another file has too.
    """
    unmet = shared_roots(environment)
    if unmet:
        raise InvalidInput(unmet)
    launch = launch_of(environment, cluster)
    refuse_errors(launch)
    return launch
