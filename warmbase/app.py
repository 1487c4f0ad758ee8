"""The CDK app, environment → plan → classifications → stacks: what `cdk deploy -c environment=prod --all` runs."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from warmbase.changes.engine_facet import EngineCluster, deployable_clusters
from warmbase.cli.terminal import print_error
from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import in_recorded_zones
from warmbase.environments.names import CANARY_TAG
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput, Problem, WarmbaseError
from warmbase.ground.files import PACKAGE
from warmbase.stacks.app import App, new_app
from warmbase.stacks.backstop import BackstopStack
from warmbase.stacks.engine_facet import stacks_of
from warmbase.stacks.monitoring import MonitoringStack
from warmbase.stacks.network import NetworkStack
from warmbase.stacks.pinned import check_not_replaced
from warmbase.stacks.storage import StorageStack

BACKSTOP: Final = "operations/canary/end_clusters.py"
"""The program that ends the clusters of a canary, whatever became of the command that launched them."""
NO_ENVIRONMENT: Final = Problem(
    where="cdk context",
    what="environment",
    why="the app synthesises the stacks of one environment, and none is named",
    fix="name it: cdk deploy -c environment=prod --all",
)


class Synthesised(NamedTuple):
    """Where the templates are, and the clusters that no launch record keeps."""

    assembly: Path
    unrecorded: tuple[str, ...]


def environment_app(name: str, outdir: str | None = None) -> App:
    """The stacks of one environment, not yet synthesised. Raises InvalidInput for a faulty file or launch record."""
    environment = read_environment(name)
    return _stacks(environment, deployable_clusters(environment), outdir)


def synthesise(name: str, outdir: str | None = None) -> Synthesised:
    """Synthesises an environment's stacks into a directory.

    Raises InvalidInput as `environment_app`, and Refused where they would replace a cluster that runs.
    """
    environment = read_environment(name)
    clusters = deployable_clusters(environment)
    assembly = Path(_stacks(environment, clusters, outdir).synth().directory)
    records = {name: cluster.record for name, cluster in clusters.items()}
    for record in records.values():
        if record is not None:
            check_not_replaced(assembly, record)
    return Synthesised(assembly, tuple(name for name, record in records.items() if record is None))


def _stacks(environment: Environment, clusters: Mapping[str, EngineCluster], outdir: str | None) -> App:
    records = [cluster.record for cluster in clusters.values() if cluster.record is not None]
    environment = in_recorded_zones(environment, records)
    app = new_app(outdir)
    network = NetworkStack(app, environment)
    storage = StorageStack(app, environment)
    if CANARY_TAG in environment.tags:
        BackstopStack(app, environment, (PACKAGE / BACKSTOP).read_text(encoding="utf-8"))
    for name, cluster in clusters.items():
        facet = stacks_of(engine_of(environment, name))
        stack = facet.cluster_stack(app, cluster.launch, network, storage, cluster.record)
        MonitoringStack(app, environment, facet.watched(cluster.launch), stack)
    return app


def main() -> int:
    """Synthesises the environment that the context names; an error is a message and its exit code."""
    name = new_app().node.try_get_context("environment")
    if not name:
        return print_error(InvalidInput(NO_ENVIRONMENT))
    try:
        unrecorded = synthesise(str(name)).unrecorded
    except WarmbaseError as error:
        return print_error(error)
    for cluster_name in unrecorded:
        sys.stderr.write(
            f"{name}: cluster {cluster_name} has no launch record; if it runs already, a deployment could replace it:"
            f" run `warmbase pin {name}` first\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
