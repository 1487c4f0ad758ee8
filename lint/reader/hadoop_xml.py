"""Hadoop configuration XML (`hbase-site.xml`) as a Subject, by the rules of Hadoop's own reader.

The standard library's trees keep no lines, and follow entities.
Source: Hadoop 3 Configuration.Parser, which reads a property's name and value as elements or as attributes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from emr.cluster_spec import ClusterSpec, Setting
from lint.reader.findings import ReadProblems
from lint.reader.settings import Level
from lint.reader.source_text import SourceSpan, SourceText, quoted, refusal
from sizing.problem import InvalidInput

__all__ = ["hadoop_subject"]

FILES: Final[Mapping[str, str]] = {
    "core-site.xml": "core-site",
    "hdfs-site.xml": "hdfs-site",
    "mapred-site.xml": "mapred-site",
    "yarn-site.xml": "yarn-site",
}
VALUE: Final = re.compile(r"<value>((?:[^<]|<(?!value>)[^<>/!?][^<>]*>)*)</value>")


def hadoop_subject(passage: SourceText, file_name: str, release: str | None) -> ClusterSpec:
    """Raises InvalidInput where Hadoop would refuse the file, and for what it would skip in silence."""
    only = FILES.get(file_name, "hbase-site")
    findings = ReadProblems()
    reader = _Reader(passage=passage, only=only, level=Level(findings=findings))
    reader.read()
    findings.refuse_problems()
    return ClusterSpec(
        source=passage.source,
        release_label=release,
        settings=reader.level.settings,
        only=only,
        classifications=findings.classifications,
        twice=tuple(findings.twice),
    )


def _escaped(value: re.Match[str]) -> str:
    """A `<placeholder>` in a value is text there, and an element to XML."""
    return f"<value>{value[1].replace('<', '&lt;').replace('>', '&gt;')}</value>"


@dataclass(slots=True, kw_only=True)
class _Property:
    """What a property element holds so far."""

    place: SourceSpan
    name: str | None = None
    value: str | None = None
    name_place: SourceSpan


@dataclass(slots=True, kw_only=True)
class _Reader:
    passage: SourceText
    only: str
    level: Level
    parser: expat.XMLParserType = field(default_factory=expat.ParserCreate)
    open: list[str] = field(default_factory=list)
    property: _Property | None = None
    texts: list[str] = field(default_factory=list)

    def read(self) -> None:
        """The whole file."""
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.texts.append
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        try:
            self.parser.Parse(VALUE.sub(_escaped, self.passage.text), True)  # noqa: FBT003
        except expat.ExpatError as error:
            why = expat.ErrorString(error.code)
            fix = "close every element, and write &amp; and &lt; for & and < in a value"
            raise refusal(self._place(error.lineno), what="is not XML", why=why, fix=fix) from None

    def _place(self, line: int | None = None) -> SourceSpan:
        return SourceSpan(source=self.passage.source, line=line or self.parser.CurrentLineNumber)

    def _refuse_doctype(self, *_: object) -> None:
        why = "it has a document type, whose entities could stand for anything"
        raise refusal(self._place(), what="is not read", why=why, fix="remove <!DOCTYPE …>; Hadoop needs none")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.texts.clear()
        if not self.open:
            self._begin(name)
        elif name == "property" and self.property is None:
            place = self._place()
            given = attributes.get("name"), attributes.get("value")
            self.property = _Property(place=place, name_place=place, name=given[0], value=given[1])
        elif name == "name" and self.property:
            self.property.name_place = self._place()
        elif name.rpartition(":")[2] == "include":
            fix = "put the included properties in its place"
            self.level.findings.wrong(self._place(), "is not read", "it includes another file", fix)
        self.open.append(name)

    def _begin(self, name: str) -> None:
        if name != "configuration":
            raise self._not_hadoop(name)
        self.level.name(self.only, self.only, self._place())

    def _not_hadoop(self, name: str) -> InvalidInput:
        fix = "put the properties in <configuration> … </configuration>"
        why = f"its outermost element is {quoted(name)}"
        return refusal(self._place(), what="is not a configuration of Hadoop", why=why, fix=fix)

    def _end(self, name: str) -> None:
        self.open.pop()
        text = "".join(self.texts).strip()
        self.texts.clear()
        if self.property is None:
            return
        if name == "name":
            self.property.name = text
        elif name == "value":
            self.property.value = text
        elif name == "property":
            self._put(self.property)
            self.property = None

    def _put(self, found: _Property) -> None:
        name = (found.name or "").strip()
        if not name or found.value is None:
            missing = "value" if name else "name"
            why = f"a property has no <{missing}>, and Hadoop skips it in silence"
            self.level.findings.wrong(found.place, name or "property", why, f"give it a <{missing}>, or remove it")
            return
        line = found.name_place.line
        self.level.put(Setting(classification=self.only, key=name, value=found.value.strip(), line=line))
