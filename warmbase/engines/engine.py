"""The engines: their names, the commands that take their clusters, and their facets.

`engine_of` finds the engine from an environment and the name of one of its clusters. A room knows no engine by name.
An engine has a part in most rooms, and most commands need few of these parts. So each facet is a module of its own in
the package of the engine, which is imported when a room asks for it. The `engine_facet.py` of the room declares its
functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from warmbase.environments.environment import Environment
    from warmbase.environments.reader.cluster_schema import EngineSection


class Engine(Struct, frozen=True, kw_only=True):
    """One engine. `name` is the value of `engine` in an environment file, and `title` the name of the software.

    `section_path` is the path of the section's class. `commands` are the commands that take a cluster of this engine.
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
        """Return the class of the section that states one of its clusters in an environment file."""
        module, _, name = self.section_path.rpartition(".")
        section: type[EngineSection] = getattr(import_module(module), name)
        return section

    def facet(self, name: str) -> Any:  # noqa: ANN401 - the room that asks has its type
        """Import a module of the engine's package; a function of the room's `engine_facet` states its type."""
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
