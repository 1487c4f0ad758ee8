"""environment → plan → classifications → stacks: what `cdk deploy -c environment=prod --all` runs."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from changes.replan import pinned_to_record
from environments.environment import Environment
from environments.launch_record import LaunchRecord, in_recorded_zones
from environments.reader import read_environment
from environments.record_files import launch_records
from lint.deployable import deployable_launch
from sizing.problem import WarmbaseError
from stacks.app import App, new_app
from stacks.cluster import ClusterStack
from stacks.monitoring import MonitoringStack
from stacks.network import NetworkStack
from stacks.pinned import check_not_replaced
from stacks.storage import StorageStack


class Synthesised(NamedTuple):
    """Where the templates are, and the clusters that no launch record keeps."""

    assembly: Path
    unrecorded: tuple[str, ...]


def environment_app(name: str, outdir: str | None = None) -> App:
    """The stacks of one environment, not yet synthesised. Raises InvalidInput for a faulty file or launch record."""
    environment = read_environment(name)
    return _stacks(environment, launch_records(environment), outdir)


def synthesise(name: str, outdir: str | None = None) -> Synthesised:
    """Synthesises an environment's stacks into a directory.

    Raises InvalidInput as `environment_app`, and Refused where they would replace a cluster that runs.
    """
    environment = read_environment(name)
    records = launch_records(environment)
    assembly = Path(_stacks(environment, records, outdir).synth().directory)
    for record in records.values():
        check_not_replaced(assembly, record)
    return Synthesised(
        assembly, tuple(cluster_name for cluster_name in environment.clusters if cluster_name not in records)
    )


def _stacks(environment: Environment, records: Mapping[str, LaunchRecord], outdir: str | None) -> App:
    environment = in_recorded_zones(environment, records.values())
    app = new_app(outdir)
    network = NetworkStack(app, environment)
    storage = StorageStack(app, environment)
    for cluster_name in environment.clusters:
        record = records.get(cluster_name)
        seen = pinned_to_record(environment, record)
        launch = deployable_launch(seen, seen.clusters[cluster_name])
        cluster = ClusterStack(app, launch, network, storage, record)
        MonitoringStack(app, launch, cluster)
    return app


def main() -> int:
    """Synthesises the environment that the context names; an error is a message and its exit code."""
    name = new_app().node.try_get_context("environment")
    if not name:
        sys.stderr.write("app.py: no environment; say which: cdk deploy -c environment=prod --all\n")
        return 2
    try:
        unrecorded = synthesise(str(name)).unrecorded
    except WarmbaseError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    for cluster_name in unrecorded:
        sys.stderr.write(
            f"{name}: cluster {cluster_name} has no launch record; if it runs already, a deployment could replace it:"
            f" run `warmbase pin {name}` first\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
