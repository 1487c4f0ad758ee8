"""A list of EMR classifications as settings, each with the line of its key."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from emr.classification import ClassificationPath
from emr.cluster_spec import Setting, SettingKey
from lint.reader.findings import ReadProblems
from lint.reader.node import Array, Member, Node, Object, Scalar, is_gap, scalar_text
from lint.reader.source_text import SourceSpan, quoted

__all__ = ["Level", "level_settings"]

API_PROPERTIES: Final = "Properties"
PROPERTIES: Final = (API_PROPERTIES, "ConfigurationProperties")
"""Of EMR's API, which takes texts alone, and of CloudFormation, which makes texts of numbers."""
KEYS: Final = ("Classification", *PROPERTIES, "Configurations")


def level_settings(configurations: Node, findings: ReadProblems) -> dict[SettingKey, Setting]:
    """The settings of a cluster or of a group. Of what stands twice the later wins, property by property."""
    level = Level(findings=findings)
    level.read_list(configurations, "")
    return level.settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The settings at one level, while they are read."""

    findings: ReadProblems
    settings: dict[SettingKey, Setting] = field(default_factory=dict)
    named: set[ClassificationPath] = field(default_factory=set)

    def read_list(self, node: Node, inside: ClassificationPath) -> None:
        """Classifications that nest in another, or in none."""
        if is_gap(node):
            return
        if not isinstance(node, Array):
            self._wrong(node.place, inside, "Configurations is not a list", "put the classifications in [ ]")
            return
        for item in node.items:
            if isinstance(item, Object):
                self._read_classification(item, inside)
            elif not is_gap(item):
                fix = 'write {"Classification": …, "Properties": {…}}'
                self._wrong(item.place, inside, "a classification is an object", fix)

    def _read_classification(self, node: Object, inside: ClassificationPath) -> None:
        member = node.get("Classification")
        name = (scalar_text(member.value) or "").strip() if member else ""
        path = f"{inside}/{name}".removeprefix("/")
        if member and name:
            self.name(path, name, member.place)
        else:
            fix = 'give it its name: "Classification": "hbase-site"'
            self._wrong(node.place, inside, "an entry has no Classification", fix)
        self._check_keys(node, path)
        for key in PROPERTIES:
            if properties := node.get(key):
                self._read_properties(properties, path)
        if nested := node.get("Configurations"):
            self.read_list(nested.value, path)

    def name(self, path: ClassificationPath, name: str, place: SourceSpan) -> None:
        """Notes a classification, and the second of a name."""
        if path in self.named:
            self._repeat(path, "Classification", name, place)
        self.named.add(path)
        self.findings.classifications.setdefault(path, place.linted_line)

    def _check_keys(self, node: Object, path: ClassificationPath) -> None:
        for again, _ in node.repeats():
            self._repeat(path, again.key, scalar_text(again.value) or "", again.place)
        for member in node.members:
            if member.key not in KEYS:
                near = get_close_matches(member.key, KEYS, n=1)
                fix = f"did you mean {near[0]}?" if near else "move it into Properties"
                self._wrong(member.place, path, f"a classification has no key {quoted(member.key)}", fix)

    def _read_properties(self, properties: Member, path: ClassificationPath) -> None:
        if isinstance(properties.value, Object) and scalar_text(properties.value) is None:
            for member in properties.value.members:
                self._read_property(member, path, takes_texts=properties.key == API_PROPERTIES)
        elif not is_gap(properties.value):
            why = f"{properties.key} is not an object"
            self._wrong(properties.place, path, why, 'write {"key": "value"}, or {} for none')

    def _read_property(self, member: Member, path: ClassificationPath, *, takes_texts: bool) -> None:
        value = scalar_text(member.value)
        if value is None:
            why = f"the value of {quoted(member.key)} is a list or an object"
            self._wrong(member.place, path, why, "write the value as text in quotes")
        else:
            is_text = not takes_texts or not isinstance(member.value, Scalar) or member.value.quoted
            line = member.place.linted_line
            self.put(Setting(classification=path, key=member.key, value=value, line=line, quoted=is_text))

    def put(self, setting: Setting) -> None:
        """The last of a key stays."""
        key = (setting.classification, setting.key)
        if key in self.settings:
            self.findings.twice.append(setting)
        self.settings[key] = setting

    def _repeat(self, path: ClassificationPath, key: str, value: str, place: SourceSpan) -> None:
        self.findings.twice.append(Setting(classification=path, key=key, value=value, line=place.linted_line))

    def _wrong(self, place: SourceSpan, path: ClassificationPath, why: str, fix: str) -> None:
        self.findings.wrong(place, path or "Configurations", why, fix)
