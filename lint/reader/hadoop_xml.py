"""Hadoop configuration XML (`hbase-site.xml`) as a ClusterSpec, read by the rules of Hadoop's own reader.

expat is used directly, because the standard library's element trees keep no lines and expand entities.
Source: Hadoop 3 Configuration.Parser, which reads a property's name and value as elements or as attributes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from emr.cluster_spec import ClusterSpec, Setting
from lint.reader.problems import ReadProblems
from lint.reader.settings import Level
from lint.reader.source_text import SourceSpan, SourceText, quoted, refusal
from sizing.problem import InvalidInput

FILES: Final[Mapping[str, str]] = {
    "core-site.xml": "core-site",
    "hdfs-site.xml": "hdfs-site",
    "mapred-site.xml": "mapred-site",
    "yarn-site.xml": "yarn-site",
}
VALUE: Final = re.compile(r"<value>((?:[^<]|<(?!value>)[^<>/!?][^<>]*>)*)</value>")


def hadoop_subject(passage: SourceText, file_name: str, release: str | None) -> ClusterSpec:
    """Return the settings of a file.

    Raises InvalidInput where Hadoop would reject the file, and for what it would silently skip.
    """
    only = FILES.get(file_name, "hbase-site")
    problems = ReadProblems()
    reader = _Reader(passage=passage, only=only, level=Level(problems=problems))
    reader.read()
    problems.refuse()
    return ClusterSpec(
        source=passage.source,
        release_label=release,
        settings=reader.level.settings,
        only=only,
        classifications=problems.classifications,
        twice=tuple(problems.twice),
    )


def _escaped(value: re.Match[str]) -> str:
    """Return a value in which a `<placeholder>` is escaped, which XML would take for an element."""
    return f"<value>{value[1].replace('<', '&lt;').replace('>', '&gt;')}</value>"


@dataclass(slots=True, kw_only=True)
class _Property:
    """A property element with the name and value read so far."""

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
        """Read the whole file."""
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.texts.append
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        try:
            self.parser.Parse(VALUE.sub(_escaped, self.passage.text), True)  # noqa: FBT003
        except expat.ExpatError as error:
            why = expat.ErrorString(error.code)
            fix = "close every element, and in values write &amp; for & and &lt; for <"
            raise refusal(self._place(error.lineno), what="is not XML", why=why, fix=fix) from None

    def _place(self, line: int | None = None) -> SourceSpan:
        return SourceSpan(source=self.passage.source, line=line or self.parser.CurrentLineNumber)

    def _refuse_doctype(self, *_: object) -> None:
        why = "it has a document type, whose entities could expand to anything"
        raise refusal(
            self._place(), what="cannot be read", why=why, fix="remove <!DOCTYPE …>, which Hadoop does not need"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.texts.clear()
        if not self.open:
            self._begin(name)
        elif name == "property" and self.property is None:
            place = self._place()
            name_and_value = {key: attributes.get(key) for key in ("name", "value")}
            self.property = _Property(place=place, name_place=place, **name_and_value)
        elif name == "name" and self.property:
            self.property.name_place = self._place()
        elif name.rpartition(":")[2] == "include":
            fix = "replace the include with the properties of that file"
            self.level.problems.add(self._place(), "cannot be read", "it includes another file", fix)
        self.open.append(name)

    def _begin(self, name: str) -> None:
        if name != "configuration":
            raise self._not_hadoop(name)
        self.level.name(self.only, self.only, self._place())

    def _not_hadoop(self, name: str) -> InvalidInput:
        fix = "put the properties in <configuration> … </configuration>"
        why = f"its outermost element is {quoted(name)}"
        return refusal(self._place(), what="is not a Hadoop configuration", why=why, fix=fix)

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

    def _put(self, element: _Property) -> None:
        name = (element.name or "").strip()
        if not name or element.value is None:
            missing = "value" if name else "name"
            why = f"Hadoop silently skips this property, because it has no <{missing}>"
            self.level.problems.add(
                element.place, name or "property", why, f"add a <{missing}>, or remove the property"
            )
            return
        line = element.name_place.line
        self.level.put(Setting(classification=self.only, key=name, value=element.value.strip(), line=line))
