"""The engines: which there are, what every command says of each, and where its facets are.

`engine_of` finds the engine from an environment and the name of one of its clusters. A room knows no engine by name.
An engine has a part in most rooms, and most commands need few of these parts. So each facet is a module of its own in
the package of the engine, which is imported when a room asks for it; `facets.py` says what it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from warmbase.engines.facets import Changes, EngineCluster, Operations, Pages, Planning, Reports, Stacks
    from warmbase.environments.environment import Environment
    from warmbase.environments.reader.cluster_schema import EngineSection


class Engine(Struct, frozen=True, kw_only=True):
    """One engine. `name` is the value of `engine` in an environment file, and `title` the name of the software.

    `section_path` leads to the class of the section in that file. `commands` are those that take one of its clusters.
    `client_ports` are the ports of the primary node that clients use, by server; those of HBase are in the network
    stack.
    """

    name: str
    title: str
    section_path: str
    commands: str
    client_ports: Mapping[str, int] = {}

    @property
    def section(self) -> type[EngineSection]:
        """Return the section of one of its clusters in an environment file, which brings its own checks."""
        module, _, name = self.section_path.rpartition(".")
        section: type[EngineSection] = getattr(import_module(module), name)
        return section

    @property
    def planning(self) -> Planning:
        """Return the facet of the calculator: what a cluster must serve, and how its plan varies."""
        facet: Planning = self._facet("planning")
        return facet

    @property
    def changes(self) -> Changes:
        """Return the facet of launches, and of the changes between a cluster and today's plan."""
        facet: Changes = self._facet("changes")
        return facet

    @property
    def operations(self) -> Operations:
        """Return the facet of running clusters, which loads boto3."""
        facet: Operations = self._facet("operations")
        return facet

    @property
    def stacks(self) -> Stacks:
        """Return the facet of the CDK app, which loads aws_cdk."""
        facet: Stacks = self._facet("stacks")
        return facet

    @property
    def reports(self) -> Reports:
        """Return the facet of documents, words, and the page of `explore`."""
        facet: Reports = self._facet("reports")
        return facet

    @property
    def pages(self) -> Pages:
        """Return the facet of the command line, which HBase does not have: its pages are the commands themselves."""
        facet: Pages = self._facet("pages")
        return facet

    def _facet(self, name: str) -> Any:  # noqa: ANN401 - `facets.py` has the type of each
        return import_module(f"warmbase.engines.{self.name}.{name}")


ENGINES: Final[Mapping[str, Engine]] = {
    engine.name: engine
    for engine in (
        Engine(
            name="hbase",
            title="HBase",
            section_path="warmbase.environments.reader.cluster_schema.ClusterSection",
            commands="every command",
        ),
        Engine(
            name="trino",
            title="Trino",
            section_path="warmbase.engines.trino.section.TrinoSection",
            commands="warmbase plan (also with --set, --frontier, --tornado or --months), explore, compare, diff,"
            " explain, render, lint, reconfigure, verify or teardown",
            # EMR Release Guide, emr-trino-deployment-config: http-server.http.port of the coordinator.
            client_ports={"Trino coordinator": 8889},
        ),
    )
}
"""The engines by their names. HBase is first: an environment always has its clusters."""
OTHER_TITLES: Final = " or ".join(engine.title for engine in list(ENGINES.values())[1:])
"""The names of the other engines' software, for a help text."""


def engine_of(environment: Environment, cluster: str) -> Engine:
    """Return the engine of a cluster of the environment."""
    return ENGINES[environment.engine(cluster)]


def deployable_clusters(environment: Environment) -> dict[str, EngineCluster]:
    """Return the clusters of all engines by name, HBase's first, checked as far as that is possible without AWS.

    Raises InvalidInput and Infeasible as the engines do.
    """
    facets = (engine.changes for engine in ENGINES.values())
    return {name: cluster for facet in facets for name, cluster in facet.deployable_clusters(environment).items()}
