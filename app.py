"""environment → plan → classifications → stacks: what `cdk deploy -c environment=prod --all` runs."""

import sys

from configurations.deployable import deployable_launch
from environments.reader import read_environment
from sizing.problem import WarmbaseError
from stacks.app import App, new_app
from stacks.cluster import ClusterStack
from stacks.monitoring import MonitoringStack
from stacks.network import NetworkStack
from stacks.storage import StorageStack


def environment_app(name: str, outdir: str | None = None) -> App:
    """The stacks of one environment, not yet synthesised. Raises InvalidInput for a faulty environment file."""
    environment = read_environment(name)
    app = new_app(outdir)
    network = NetworkStack(app, environment)
    storage = StorageStack(app, environment)
    for choice in environment.clusters.values():
        launch = deployable_launch(environment, choice)
        cluster = ClusterStack(app, launch, network, storage)
        MonitoringStack(app, launch, cluster)
    return app


def main() -> int:
    """Synthesises the environment that the context names; an error is a message and its exit code."""
    name = new_app().node.try_get_context("environment")
    if not name:
        sys.stderr.write("app.py: no environment; say which: cdk deploy -c environment=prod --all\n")
        return 2
    try:
        environment_app(str(name)).synth()
    except WarmbaseError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
