"""A cluster as a file, a template, a plan or EMR itself states it: its settings, its instance groups, their volumes.

Each source states a part: an `hbase-site.xml` has no nodes, a list of classifications has no volumes. What a source
does not state is None or empty, and no lint rule takes silence about a node for a fault.

Classifications are named sets of properties, which may nest, for a cluster or for one instance group. A table may ask
its RegionServers to load a coprocessor (`TableCoprocessor`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

ClassificationPath = str
"""Names from the outside in: `hbase-site`, `hbase-env/export`."""


class Classification(Struct, frozen=True, kw_only=True):
    """Properties are strings, as EMR wants them; nested classifications keep their order."""

    name: str
    properties: Mapping[str, str]
    nested: tuple[Classification, ...] = ()


class Classifications(NamedTuple):
    """The classifications of a launch: the storage root for all nodes, everything tunable by instance group."""

    cluster: tuple[Classification, ...]
    primary: tuple[Classification, ...]
    core: tuple[Classification, ...]

    def effective(self, group: str) -> tuple[Classification, ...]:
        """Return the settings in force on nodes of a group (`primary`, `core`): the group's win over the cluster's."""
        return merged(self.cluster, getattr(self, group))


def merged(below: Iterable[Classification], above: Iterable[Classification]) -> tuple[Classification, ...]:
    """Return one level made of both, property by property; `above` wins."""
    levels = {classification.name: classification for classification in below}
    for classification in above:
        under = levels.get(classification.name)
        levels[classification.name] = classification if under is None else _laid_over(under, classification)
    return tuple(levels.values())


def _laid_over(below: Classification, above: Classification) -> Classification:
    return Classification(
        name=above.name,
        properties={**below.properties, **above.properties},
        nested=merged(below.nested, above.nested),
    )


def flattened(
    classifications: Iterable[Classification], inside: ClassificationPath = ""
) -> Iterator[tuple[ClassificationPath, str, str]]:
    """Yield every property as (classification path, key, value)."""
    for classification in classifications:
        path = f"{inside}/{classification.name}".removeprefix("/")
        for key, value in classification.properties.items():
            yield path, key, value
        yield from flattened(classification.nested, path)


def of_settings(values: Mapping[tuple[ClassificationPath, str], str]) -> tuple[Classification, ...]:
    """Return the classifications that have exactly these values: the way back from `flattened`."""
    return _inside("", values)


def _inside(
    path: ClassificationPath, values: Mapping[tuple[ClassificationPath, str], str]
) -> tuple[Classification, ...]:
    start = f"{path}/" if path else ""
    names = dict.fromkeys(name[len(start) :].partition("/")[0] for name, _ in values if name.startswith(start))
    return tuple(
        Classification(
            name=name,
            properties={key: value for (at, key), value in values.items() if at == f"{start}{name}"},
            nested=_inside(f"{start}{name}", values),
        )
        for name in names
    )


PHOENIX: Final = "org.apache.phoenix."


class TableCoprocessor(Struct, frozen=True, kw_only=True):
    """A class that RegionServers load for one table; `where` names the file, and `line` the line of the linted file."""

    table: str
    class_name: str
    where: str | None = None
    line: int | None = None

    @property
    def is_phoenix(self) -> bool:
        """Return whether the class is one of Apache Phoenix, which sets its classes on each table that it creates."""
        return self.class_name.startswith(PHOENIX)


class GroupNames(NamedTuple):
    """The names of one instance group in EMR's interfaces."""

    api: str
    cloudformation: str


GROUPS: Final[Mapping[str, GroupNames]] = {
    "primary": GroupNames("MASTER", "MasterInstanceGroup"),
    "core": GroupNames("CORE", "CoreInstanceGroup"),
    "task": GroupNames("TASK", "TaskInstanceGroups"),
}
"""The instance groups of a cluster by role. CloudFormation takes several task groups, one of each other kind."""

SHELL: Final = r"HBASE_|HADOOP_|YARN_|JAVA_HOME"
"""Variables that hbase-env.sh has."""
FILLED_IN: Final = r"AWS::|env\.|[a-z0-9-]+\.[^{}]*"
"""Names that CloudFormation and Hadoop fill in themselves: `${AWS::Region}`, `${hbase.tmp.dir}`."""
WORDS: Final = (
    r"<[^<>]+>|//\.\.\.(?:/|$)|(?<!\$)\{[A-Z][A-Z0-9_]+\}|\{\{[^{}]*\}\}"
    r"|\b(?:CHANGE_?ME|TODO|YOUR[_-][A-Z_-]+)\b|__[A-Z_]+__|^[\s\u200b]*$"
)
"""`<your-jvm-heap-size>`, `{{ heap }}`, `{BUCKET}`, `s3://...`, `CHANGEME`, or nothing."""
PLACEHOLDER: Final = re.compile(rf"{WORDS}|\$\{{(?!{FILLED_IN}|{SHELL})[^{{}}]*\}}")
"""A placeholder in a file of variables; in other files, variables of the shell are placeholders too."""
BLANK_TO_FILL: Final = re.compile(WORDS)
"""A placeholder that a person has to fill in, whatever reads the file."""
OF_SITES: Final = re.compile(rf"{WORDS}|\$\{{(?!{FILLED_IN})[^{{}}]*\}}")

SettingKey = tuple[ClassificationPath, str]
"""Classification path and property key."""


def is_placeholder(classification: ClassificationPath, text: str) -> bool:
    """Return whether a value, or a key, is still to be filled in by whoever uses the file."""
    of_variables = classification.partition("/")[0].endswith("-env")
    return (PLACEHOLDER if of_variables else OF_SITES).search(text) is not None


class Setting(Struct, frozen=True, kw_only=True):
    """One property as its source writes it. `line` is that of its key, None where there is no file.

    `quoted` is false for a JSON number or boolean where EMR's API takes only strings.
    """

    classification: ClassificationPath
    key: str
    value: str
    line: int | None = None
    overridden: bool = False
    quoted: bool = True

    @property
    def is_placeholder(self) -> bool:
        """Return whether the value is still to be filled in by whoever uses the file."""
        return is_placeholder(self.classification, self.value)


Settings = Mapping[SettingKey, Setting]


def settings_of(level: Iterable[Classification]) -> Settings:
    """Return the properties of some classifications by path and key."""
    return {(path, key): Setting(classification=path, key=key, value=value) for path, key, value in flattened(level)}


def classifications_of(settings: Settings) -> tuple[Classification, ...]:
    """The classifications that hold these settings: the way back from `settings_of`."""
    return of_settings({at: setting.value for at, setting in settings.items()})


class EbsVolume(Struct, frozen=True, kw_only=True):
    """The EBS volumes of one specification that each node has; None for what is not stated, or is a placeholder."""

    type: str | None
    size_gib: int | None
    iops: int | None
    throughput_mib_s: int | None
    count: int = 1
    line: int | None = None


def counted(volumes: Iterable[EbsVolume]) -> tuple[EbsVolume, ...]:
    """Return the same volumes, smallest first, with equal ones counted together."""
    counts: Counter[EbsVolume] = Counter()
    for volume in volumes:
        counts[replace(volume, count=1, line=None)] += volume.count
    return tuple(sorted((replace(volume, count=count) for volume, count in counts.items()), key=_size))


def _size(volume: EbsVolume) -> tuple[int, str, int, int]:
    return (volume.size_gib or 0, volume.type or "", volume.iops or 0, volume.throughput_mib_s or 0)


class InstanceGroup(Struct, frozen=True, kw_only=True):
    """An instance group: `role` is primary, core or task. `volumes` is empty where EMR's defaults apply."""

    role: str
    instance_type: str | None
    count: int | None
    volumes: tuple[EbsVolume, ...] = ()
    settings: Settings = field(default_factory=dict)
    line: int | None = None


class BootstrapAction(Struct, frozen=True, kw_only=True):
    """A bootstrap action: the address of its script in S3, and its arguments."""

    name: str
    script: str
    arguments: tuple[str, ...]


class ClusterSpec(Struct, frozen=True, kw_only=True):
    """A cluster as one source states it.

    `settings` are those for the whole cluster; each group lays its own over them. `only` is the one classification
    that the source can hold (`hbase-site` for an `hbase-site.xml`), None where it can hold all. `fleets`,
    `managed_scaling`, `auto_termination` and `key_pair` are the lines where the file states such a thing, None where it
    does not.
    `classifications` are all that the file names, empty ones too, each with its line and those of groups among them.
    `twice` are settings that the file states a second time at the same level. `has_kerberos` is true where a KDC
    authenticates clients, and `open_networks` are those from which a security group lets any program in.
    `replaced_label` is the file's own release label where the caller chose another one.
    `coprocessors` are those that tables of the root ask for. `fills_in` is true for a script or template, which
    replaces `${…}` itself before EMR sees it.
    """

    source: str
    release_label: str | None
    settings: Settings
    groups: tuple[InstanceGroup, ...] = ()
    applications: tuple[str, ...] = ()
    only: ClassificationPath | None = None
    fleets: int | None = None
    managed_scaling: int | None = None
    auto_termination: int | None = None
    key_pair: int | None = None
    has_kerberos: bool = False
    open_networks: tuple[str, ...] = ()
    coprocessors: tuple[TableCoprocessor, ...] = ()
    classifications: Mapping[ClassificationPath, int | None] = field(default_factory=dict)
    twice: tuple[Setting, ...] = ()
    name: str | None = None
    os_release: str | None = None
    bootstrap_actions: tuple[BootstrapAction, ...] = ()
    fills_in: bool = False
    subnet: str | None = None
    availability_zone: str | None = None
    security_configuration: str | None = None
    replaced_label: str | None = None

    def group(self, role: str) -> InstanceGroup | None:
        """The group of that role, if the file has one."""
        return next((group for group in self.groups if group.role == role), None)

    def effective(self, role: str) -> Settings:
        """Return the settings in force on nodes of a role: the group's win over the cluster's."""
        group = self.group(role)
        return {**self.settings, **(group.settings if group else {})}

    def shows(self, classification: ClassificationPath) -> bool:
        """Return whether the source can state settings of that classification."""
        return self.only is None or self.only == classification
