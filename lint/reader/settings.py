"""A list of EMR classifications as settings, each with the line of its key."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from msgspec import Struct, field

from emr.classification import ClassificationPath
from emr.cluster_spec import Setting, SettingKey
from environments.reader.document import forbidden_character
from lint.reader.node import Array, Member, Node, Object, Scalar, is_gap, scalar_text
from lint.reader.problems import ReadProblems
from lint.reader.source_text import SourceSpan, quoted
from lint.reader.written import WRITTEN, WrittenSetting
from lint.reader.written_member import written_member

API_PROPERTIES: Final = "Properties"
PROPERTIES: Final = (API_PROPERTIES, "ConfigurationProperties")
"""The keys of EMR's API, which accepts strings only, and of CloudFormation, which converts numbers to strings."""
KEYS: Final = ("Classification", *PROPERTIES, "Configurations")


def level_settings(configurations: Node, problems: ReadProblems) -> dict[SettingKey, Setting]:
    """Return the settings of a cluster or of a group. The last value of a property that is set twice counts."""
    level = Level(problems=problems)
    level.read_list(configurations, "")
    return level.settings


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
        self._check_keys(node, path)
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

    def _check_keys(self, node: Object, path: ClassificationPath) -> None:
        for again, _ in node.repeats():
            self._repeat(path, again.key, scalar_text(again.value) or "", again.place)
        for member in node.members:
            if member.key not in KEYS:
                near = get_close_matches(member.key, KEYS, n=1)
                fix = f"did you mean {near[0]}?" if near else "move it into Properties"
                self._problem(member.place, path, f"{quoted(member.key)} is not a key of a classification", fix)

    def _read_properties(self, properties: Member, path: ClassificationPath) -> None:
        if isinstance(properties.value, Object) and scalar_text(properties.value) is None:
            members = properties.value.members
            for index, member in enumerate(members):
                setting = self._read_property(member, path, takes_texts=properties.key == API_PROPERTIES)
                if setting:
                    self.put(setting, written_member(setting, members, index))
        elif not is_gap(properties.value):
            why = f"{properties.key} is not an object"
            self._problem(properties.place, path, why, 'write {"key": "value"}, or {} for none')

    def _read_property(self, member: Member, path: ClassificationPath, *, takes_texts: bool) -> Setting | None:
        value = scalar_text(member.value)
        if value is None:
            why = f"the value of {quoted(member.key)} is a list or an object"
            self._problem(member.place, path, why, "write the value as a string in quotes")
        elif forbidden := forbidden_character(member.key + value):
            why = f"{quoted(member.key)} contains the control character U+{ord(forbidden):04X}, which XML forbids"
            self._problem(member.place, path, why, "remove the character")
        else:
            is_text = not takes_texts or not isinstance(member.value, Scalar) or member.value.quoted
            line = member.place.linted_line
            return Setting(classification=path, key=member.key, value=value, line=line, quoted=is_text)
        return None

    def put(self, setting: Setting, written: WrittenSetting) -> None:
        """Keep a setting; of several for one key the last one stays. A trial also notes where it is written."""
        settings = WRITTEN.get()
        if settings is not None:
            settings.append(written)
        key = (setting.classification, setting.key)
        if key in self.settings:
            self.problems.twice.append(setting)
        self.settings[key] = setting

    def _repeat(self, path: ClassificationPath, key: str, value: str, place: SourceSpan) -> None:
        self.problems.twice.append(Setting(classification=path, key=key, value=value, line=place.linted_line))

    def _problem(self, place: SourceSpan, path: ClassificationPath, why: str, fix: str) -> None:
        self.problems.add(place, path or "Configurations", why, fix)
