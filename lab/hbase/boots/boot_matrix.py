"""The launches to boot: every environment file, and one environment in every mode and role on each HBase's releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from configurations.launch import Launch, launch_of
from configurations.node_files import site_properties
from configurations.rendering import classifications
from environments.environment import Environment
from environments.override import Override
from environments.planning import compared_plans
from environments.reader import read_environment
from facts.releases import releases
from lab.hbase.software.jars import HBASE, hbase_sets
from lab.hbase.software.selection import nearest_set
from sizing.modes import MODES

PROJECT: Final = Path(__file__).parents[3]
FOLDERS: Final = ("environments", "tests/environments/examples")
VARIED: Final = "prod"
WITHOUT_ZGC: Final = "emr-7.8.0"
"""A release with Java 17 and G1, EMRFS, and logging by hbase-log4j."""
DECOMPRESSED: Final = Override(
    classification="hbase-site", key="hbase.block.data.cachecompressed", value="false", where="the lab"
)


class BootContext(Struct, frozen=True, kw_only=True):
    """The parts that several boots share: a version of HBase, and a place for the data."""

    jars: str
    in_s3: bool

    @property
    def directory(self) -> str:
        """Return the name of its processes' directory."""
        return f"{self.jars}-{'s3' if self.in_s3 else 'files'}"


class BootCase(Struct, frozen=True, kw_only=True):
    """One launch to boot; `name` describes it without the instance group."""

    name: str
    launch: Launch

    @property
    def ground(self) -> BootContext:
        """Return the context in which the launch can boot."""
        plan = self.launch.plan
        return BootContext(jars=nearest_set(releases()[plan.release].hbase), in_s3=plan.mode.keeps_data_in_s3)


def environment_files() -> tuple[Path, ...]:
    """Return the project's environment files, and the examples of its tests where they exist."""
    return tuple(file for folder in FOLDERS for file in sorted((PROJECT / folder).glob("*.yaml")))


def cases() -> tuple[BootCase, ...]:
    """Return all launches to boot, each distinct rendering once."""
    return tuple(distinct([*_of_files(), *_varied(read_environment(VARIED))], "core"))


def distinct(candidates: Iterable[BootCase], group: str) -> Iterator[BootCase]:
    """Yield the cases whose `hbase-site`, Java and HBase differ from every earlier one's."""
    keys: set[tuple[object, ...]] = set()
    for case in candidates:
        settings = case.launch.settings.effective(group)
        others = [setting for setting in settings if setting.name == "hbase-env"]
        key = (case.ground, tuple(sorted(site_properties(settings).items())), str(others))
        if key not in keys:
            keys.add(key)
            yield case


def _of_files() -> Iterator[BootCase]:
    for file in environment_files():
        environment = read_environment(str(file))
        for cluster_name, cluster in environment.clusters.items():
            yield _case(f"{environment.name} {cluster_name}", launch_of(environment, cluster))


def _varied(environment: Environment) -> Iterator[BootCase]:
    for label in (*_newest_releases(), WITHOUT_ZGC):
        plans = compared_plans(replace(environment, release=label), environment.active)
        for mode, role in product(MODES.values(), ("active", "replica")):
            cluster = replace(environment.active, role=role)
            read = replace(environment, release=label, mode=mode, clusters={cluster.name: cluster})
            if role == "active" or mode.keeps_data_in_s3:
                launch = Launch(environment=read, plan=plans[mode], settings=classifications(read, plans[mode]))
                yield _case(f"{environment.name} {cluster.name}", launch)
            if label == WITHOUT_ZGC:
                break
    read = replace(environment, overrides=(DECOMPRESSED,))
    yield _case(f"{environment.name} {read.active.name}, cachecompressed=false", launch_of(read, read.active))


def _newest_releases() -> tuple[str, ...]:
    """Return the newest release of each HBase that the lab has; it boots no other HBase in place of a release's own."""
    newest = {f"{HBASE}{'.'.join(map(str, release.hbase))}": label for label, release in releases().items()}
    return tuple(label for name, label in newest.items() if name in hbase_sets())


def _case(name: str, launch: Launch) -> BootCase:
    role = launch.environment.clusters[launch.plan.cluster].role
    return BootCase(name=f"{name}, {launch.plan.mode}, {role}, {launch.plan.release}", launch=launch)
