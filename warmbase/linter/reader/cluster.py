"""A cluster in the object of RunJobFlow, or in the properties of CloudFormation, as a ClusterSpec.

Instance groups may have the spelling of RunJobFlow, of the AWS CLI or of CloudFormation. `Level` reads a list of
classifications as settings, each with the line of its key, and `Fields` each member of an object as the type that it
must have. `ReadProblems` collects the problems of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final, Self

from msgspec import Struct, field

from warmbase.emr.cluster_spec import (
    GROUPS,
    ClassificationPath,
    ClusterSpec,
    EbsVolume,
    InstanceGroup,
    Setting,
    SettingKey,
    Settings,
)
from warmbase.environments.reader.document import excess, forbidden_character
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.linter.reader.node import Array, Member, Node, Object, Scalar, is_gap, scalar_text, written_member
from warmbase.linter.reader.source_text import WRITTEN, SourceSpan, WrittenSetting, quoted, refusal

CLUSTER_KEYS: Final = frozenset({"Configurations", "Instances", "ReleaseLabel", "Applications", "ManagedScalingPolicy"})
FLEETS: Final = ("InstanceFleets", "MasterInstanceFleet", "CoreInstanceFleet", "TaskInstanceFleets")


def cluster_subject(node: Object, release: str | None, *, fills_in: bool = False) -> ClusterSpec:
    """Return the cluster that an object describes; `fills_in` is true where a script or template holds it.

    A `release` wins over the file's own, which is then the `replaced_label`.

    Raises InvalidInput with every problem of the file.
    """
    problems = ReadProblems()
    cluster = Fields.of(node, problems)
    instances = cluster.fields("Instances") or Fields(object=Object(members=(), place=node.place), problems=problems)
    own = (cluster.text("ReleaseLabel") or "").strip() or None
    settings = _settings(cluster)
    groups = tuple(_groups(instances))
    applications = []
    for application in cluster.entries("Applications"):
        name = application.text("Name")
        if name:
            applications.append(name)
        elif application.object.get("Name") is None:
            why = "an application has no Name"
            problems.add(application.place, "Applications", why, 'write {"Name": "HBase"}')
    placement = instances.object.get("Placement")
    subnets = instances.object.get("Ec2SubnetIds")
    # EMR chooses one of several subnets.
    ids = subnets.value.items if subnets and isinstance(subnets.value, Array) else ()
    only_id = ids[0].text if len(ids) == 1 and isinstance(ids[0], Scalar) else None
    subject = ClusterSpec(
        source=node.place.source,
        release_label=release or own,
        replaced_label=own if release and own != release else None,
        settings=settings,
        groups=groups,
        applications=tuple(applications),
        fleets=next((line for key in FLEETS if (line := instances.line(key)) is not None), None),
        managed_scaling=cluster.line("ManagedScalingPolicy"),
        auto_termination=cluster.line("AutoTerminationPolicy"),
        has_kerberos=cluster.member("KerberosAttributes") is not None,
        key_pair=instances.line("Ec2KeyName"),
        classifications=problems.classifications,
        twice=tuple(problems.twice),
        fills_in=fills_in,
        subnet=only_id if only_id is not None else _plain(instances.object, "Ec2SubnetId"),
        availability_zone=_plain(placement.value, "AvailabilityZone") if placement else None,
        security_configuration=_plain(node, "SecurityConfiguration"),
    )
    problems.refuse()
    return subject


def _plain(node: Node, key: str) -> str | None:
    """Return a value that no rule judges; None where it is not text, such as a reference in a template."""
    member = node.get(key) if isinstance(node, Object) else None
    return member.value.text if member and isinstance(member.value, Scalar) else None


ROLES: Final[Mapping[str, str]] = {names.api: role for role, names in GROUPS.items()}


def _groups(instances: Fields) -> Iterator[InstanceGroup]:
    """Yield all groups; where none is listed, those that the instance type and count for all nodes make."""
    count = 0
    for entry in instances.entries("InstanceGroups"):
        if role := _role(entry):
            count += 1
            yield _group(entry, role)
    # CloudFormation has a key for each role.
    named = [(role, instances.fields(GROUPS[role].cloudformation)) for role in ("primary", "core")]
    named += [("task", group) for group in instances.entries(GROUPS["task"].cloudformation)]
    for role, group in named:
        if group:
            count += 1
            yield _group(group, role)
    if count:
        return
    # The count is of one primary node, and of core nodes for the rest.
    nodes = instances.whole("InstanceCount")
    if instances.object.get("MasterInstanceType"):
        line = instances.line("MasterInstanceType")
        yield InstanceGroup(role="primary", instance_type=instances.text("MasterInstanceType"), count=1, line=line)
    if instances.object.get("SlaveInstanceType") and instances.object.get("InstanceCount") and nodes != 1:
        yield InstanceGroup(
            role="core",
            instance_type=instances.text("SlaveInstanceType"),
            count=None if nodes is None else max(nodes - 1, 0),
            line=instances.line("SlaveInstanceType"),
        )


def _role(entry: Fields) -> str | None:
    """Return the role of a group; None for a placeholder, and where it adds a problem."""
    key = "InstanceRole" if entry.object.get("InstanceRole") else "InstanceGroupType"
    written = entry.object.get(key)
    text = entry.text(key)
    if text is not None and text.upper() in ROLES:
        return ROLES[text.upper()]
    if text is not None or written is None:
        place = written.place if written else entry.place
        why = f"{place.quoted(text)} is not a role" if text else "the group has no role"
        entry.problems.add(place, key, why, "write MASTER, CORE or TASK")
    return None


def _group(entry: Fields, role: str) -> InstanceGroup:
    instance_type, count = entry.text("InstanceType"), entry.whole("InstanceCount")
    volumes = []
    ebs = entry.fields("EbsConfiguration")
    for device in ebs.entries("EbsBlockDeviceConfigs") if ebs else ():
        specification = device.fields("VolumeSpecification")
        if specification is None:
            if device.object.get("VolumeSpecification") is None:
                why = "the volumes have no VolumeSpecification"
                device.problems.add(device.place, "EbsBlockDeviceConfigs", why, "add it, with VolumeType and SizeInGB")
            continue
        volumes_per_node = device.whole("VolumesPerInstance")
        volume = EbsVolume(
            type=specification.text("VolumeType"),
            size_gib=specification.whole("SizeInGB"),
            iops=specification.whole("Iops"),
            throughput_mib_s=specification.whole("Throughput"),
            count=1 if volumes_per_node is None else volumes_per_node,
            line=device.line("VolumeSpecification"),
        )
        volumes.append(volume)
    return InstanceGroup(
        role=role,
        instance_type=instance_type,
        count=count,
        volumes=tuple(volumes),
        settings=_settings(entry),
        line=entry.place.linted_line,
    )


def _settings(entry: Fields) -> Settings:
    """Return the settings of a cluster or of a group. The last value of a property that is set twice counts."""
    level = Level(problems=entry.problems)
    if member := entry.member("Configurations"):
        level.read_list(member.value, "")
    return level.settings


# judgement: the default files of Hadoop and HBase have some hundred settings each.
MOST_SETTINGS: Final = 10_000
MOST_PROBLEMS: Final = 500  # judgement: nobody reads more
SHORTEN: Final = "write the value that is meant"
# judgement: no count and no volume of EMR has more digits.
WHOLE: Final = re.compile(r"[0-9]{1,9}")


class Fields(Struct, frozen=True, kw_only=True):
    """An object of the file. A placeholder counts as absent, whatever its type should be."""

    object: Object
    problems: ReadProblems

    @classmethod
    def of(cls, node: Object, problems: ReadProblems) -> Self:
        """Return the fields of an object, and add a problem for each key that it has twice."""
        for again, before in node.repeats():
            why = f"the key is already in line {before.place.line}, and only the last would count"
            problems.add(again.place, again.key, why, "remove one of the two")
        return cls(object=node, problems=problems)

    @property
    def place(self) -> SourceSpan:
        """The place where the object begins."""
        return self.object.place

    def member(self, key: str) -> Member | None:
        """Return the member, unless it is absent, null or a placeholder."""
        member = self.object.get(key)
        return None if member is None or is_gap(member.value) else member

    def line(self, key: str) -> int | None:
        """Return the line of a key, also if its value is a placeholder; None where the value is empty."""
        member = self.object.get(key)
        if member is None:
            return None
        match member.value:
            case Scalar(text=text, is_null=is_null):
                is_empty = is_null or not text.strip()
            case Array(items=parts) | Object(members=parts):
                is_empty = not parts
        return None if is_empty else member.place.linted_line

    def text(self, key: str) -> str | None:
        """Return a text; None where it is absent, and where it is not a text, which adds a problem."""
        member = self.member(key)
        if member is None:
            return None
        text = scalar_text(member.value)
        if text is None:
            self.problems.add(member.place, key, "the value is a list or an object", "write a single value")
        elif why := excess(text):
            self.problems.add(member.place, key, why, SHORTEN)
            return None
        return text

    def whole(self, key: str) -> int | None:
        """Return a whole number, in quotes or without; None as for a text."""
        member, text = self.member(key), self.text(key)
        if member is None or text is None:
            return None
        if not WHOLE.fullmatch(text):
            self.problems.add(
                member.place, key, f"{member.place.quoted(text)} is not a whole number", "write a whole number"
            )
            return None
        return int(text)

    def fields(self, key: str) -> Fields | None:
        """Return the fields of an object inside this one; None as for a text."""
        member = self.member(key)
        return None if member is None else self._fields(member.value, key)

    def entries(self, key: str) -> Iterator[Fields]:
        """Yield the objects of a list."""
        member = self.member(key)
        if member is None:
            return
        if not isinstance(member.value, Array):
            self.problems.add(member.place, key, "the value is not a list", "put it in [ ]")
            return
        for index, item in enumerate(member.value.items):
            fields = None if is_gap(item) else self._fields(item, f"{key}[{index}]")
            if fields:
                yield fields

    def _fields(self, node: Node, what: str) -> Fields | None:
        if isinstance(node, Object):
            return Fields.of(node, self.problems)
        self.problems.add(node.place, what, "the value is not an object", "write an object in { }")
        return None


API_PROPERTIES: Final = "Properties"
PROPERTIES: Final = (API_PROPERTIES, "ConfigurationProperties")
"""The keys of EMR's API, which accepts strings only, and of CloudFormation, which converts numbers to strings."""
KEYS: Final = ("Classification", *PROPERTIES, "Configurations")


class Level(Struct, frozen=True, kw_only=True):
    """The settings at one level, which grow while a file is read."""

    problems: ReadProblems
    settings: dict[SettingKey, Setting] = field(default_factory=dict)
    named: set[ClassificationPath] = field(default_factory=set)

    def read_list(self, node: Node, inside: ClassificationPath) -> None:
        """Read a list of classifications that are inside another one, or at the top."""
        if is_gap(node):
            return
        if not isinstance(node, Array):
            self._problem(node.place, inside, "Configurations is not a list", "put the classifications in [ ]")
            return
        for item in node.items:
            if isinstance(item, Object):
                self._read_classification(item, inside)
            elif not is_gap(item):
                fix = 'write {"Classification": …, "Properties": {…}}'
                self._problem(item.place, inside, "a classification must be an object", fix)

    def _read_classification(self, node: Object, inside: ClassificationPath) -> None:
        member = node.get("Classification")
        name = (scalar_text(member.value) or "").strip() if member else ""
        path = f"{inside}/{name}".removeprefix("/")
        if member and name:
            self.name(path, name, member.place)
        else:
            fix = 'add its name, such as "Classification": "hbase-site"'
            self._problem(node.place, inside, "an entry has no Classification", fix)
        for again, _ in node.repeats():
            self._repeat(path, again.key, scalar_text(again.value) or "", again.place)
        for member in node.members:
            if member.key not in KEYS:
                near = get_close_matches(member.key, KEYS, n=1)
                fix = f"did you mean {near[0]}?" if near else "move it into Properties"
                self._problem(
                    member.place, path, f"{member.place.quoted(member.key)} is not a key of a classification", fix
                )
        for key in PROPERTIES:
            if properties := node.get(key):
                self._read_properties(properties, path)
        if nested := node.get("Configurations"):
            self.read_list(nested.value, path)

    def name(self, path: ClassificationPath, name: str, place: SourceSpan) -> None:
        """Record a classification, and a repeat where its name occurs twice."""
        if path in self.named:
            self._repeat(path, "Classification", name, place)
        self.named.add(path)
        self.problems.classifications.setdefault(path, place.linted_line)

    def _read_properties(self, properties: Member, path: ClassificationPath) -> None:
        node = properties.value
        if not isinstance(node, Object) or scalar_text(node) is not None:
            if not is_gap(node):
                why = f"{properties.key} is not an object"
                self._problem(properties.place, path, why, 'write {"key": "value"}, or {} for none')
            return
        for index, member in enumerate(node.members):
            value, key = scalar_text(member.value), member.place.quoted(member.key)
            if value is None:
                why = f"the value of {key} is a list or an object"
                self._problem(member.place, path, why, "write the value as a string in quotes")
            elif forbidden := forbidden_character(member.key + value):
                why = f"{key} contains the control character U+{ord(forbidden):04X}, which XML forbids"
                self._problem(member.place, path, why, "remove the character")
            elif reason := excess(member.key) or excess(value):
                self._problem(member.place, path, f"{key}: {reason}", SHORTEN)
            else:
                converts = properties.key != API_PROPERTIES
                is_text = converts or not isinstance(member.value, Scalar) or member.value.quoted
                line = member.place.linted_line
                setting = Setting(classification=path, key=member.key, value=value, line=line, quoted=is_text)
                self.put(setting, written_member(setting, node.members, index), member.place)

    def put(self, setting: Setting, written: WrittenSetting, place: SourceSpan) -> None:
        """Keep a setting; of several for one key the last one stays. A trial also notes where it is written."""
        settings = WRITTEN.get()
        if settings is not None:
            settings.append(written)
        if len(self.settings) + len(self.problems.twice) >= MOST_SETTINGS:
            why = f"it has over {MOST_SETTINGS:,} settings"
            fix = "pass only the configurations"
            raise refusal(place, what="is too long", why=why, fix=fix)
        key = (setting.classification, setting.key)
        if key in self.settings:
            self.problems.twice.append(setting)
        self.settings[key] = setting

    def _repeat(self, path: ClassificationPath, key: str, value: str, place: SourceSpan) -> None:
        self.problems.twice.append(Setting(classification=path, key=key, value=value, line=place.linted_line))

    def _problem(self, place: SourceSpan, path: ClassificationPath, why: str, fix: str) -> None:
        self.problems.add(place, path or "Configurations", why, fix)


class ReadProblems(Struct, frozen=True, kw_only=True):
    """Collects problems, the classifications that a file names, and settings that it states twice."""

    problems: list[Problem] = field(default_factory=list)
    classifications: dict[ClassificationPath, int | None] = field(default_factory=dict)
    twice: list[Setting] = field(default_factory=list)

    def add(self, place: SourceSpan, what: str, why: str, fix: str) -> None:
        """Add a problem, after which the reading continues."""
        what = what if what.isprintable() and what else quoted(what)
        self.problems.append(Problem(where=str(place), what=what, why=why, fix=fix))
        if len(self.problems) >= MOST_PROBLEMS:
            self.refuse()

    def refuse(self) -> None:
        """Raise InvalidInput with all problems, ordered by line, if there are any."""
        if self.problems:
            raise InvalidInput(sorted(self.problems, key=_file_and_line))


def _file_and_line(problem: Problem) -> tuple[str, int]:
    source, _, line = problem.where.rpartition(":")
    return source, int(line) if line.isascii() and line.isdecimal() else 0
