"""Hadoop configuration XML (`hbase-site.xml`) as a ClusterSpec, read by the rules of Hadoop's own reader.

expat is used directly, because the standard library's element trees keep no lines and expand entities.
Source: Hadoop 3 Configuration.Parser, which reads a property's name and value as elements or as attributes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from xml.parsers import expat
from xml.sax.saxutils import unescape

from msgspec import Struct, field

from warmbase.emr.cluster_spec import ClusterSpec, Setting
from warmbase.environments.reader.document import excess
from warmbase.linter.reader.cluster import SHORTEN, Level, ReadProblems
from warmbase.linter.reader.source_text import (
    Notation,
    SourceSpan,
    SourceText,
    Written,
    WrittenSetting,
    alone_on_line,
    quoted,
    refusal,
)

FILES: Final[Mapping[str, str]] = {
    "core-site.xml": "core-site",
    "hdfs-site.xml": "hdfs-site",
    "mapred-site.xml": "mapred-site",
    "yarn-site.xml": "yarn-site",
}
LESS, GREATER = "\x7f", "\x80"
"""Characters without a meaning that stand for brackets while a text is parsed, so that places stay where they are."""
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
    """Return a value in which the brackets of a `<placeholder>`, which XML would take for an element, are letters."""
    return f"<value>{value[1].replace('<', LESS).replace('>', GREATER)}</value>"


class _Property(Struct, kw_only=True):
    """A property element with the name and value read so far."""

    place: SourceSpan
    name: str | None = None
    value: str | None = None
    name_place: SourceSpan
    start: int
    content: int = 0
    name_written: Written | None = None
    value_written: Written | None = None


class _Reader(Struct, kw_only=True):
    passage: SourceText
    only: str
    level: Level
    parser: expat.XMLParserType = field(default_factory=expat.ParserCreate)
    open: list[str] = field(default_factory=list)
    property: _Property | None = None
    texts: list[str] = field(default_factory=list)
    bytes: bytes | None = None
    last: tuple[int, int] = (0, 0)
    """The last place that was read, in bytes and in characters."""

    def read(self) -> None:
        """Read the whole file."""
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.texts.append
        self.parser.StartDoctypeDeclHandler = self._doctype
        try:
            text = VALUE.sub(_escaped, self.passage.text)
            self.bytes = None if text.isascii() else text.encode()
            self.parser.Parse(text, True)  # noqa: FBT003
        except expat.ExpatError as error:
            why = expat.ErrorString(error.code)
            fix = "close every element, and in values write &amp; for & and &lt; for <"
            raise refusal(self._place(error.lineno), what="is not XML", why=why, fix=fix) from None

    def _place(self, line: int | None = None) -> SourceSpan:
        return SourceSpan(source=self.passage.source, line=line or self.parser.CurrentLineNumber)

    def _doctype(self, *_: object) -> None:
        why = "it has a document type, whose entities could expand to anything"
        raise refusal(
            self._place(), what="cannot be read", why=why, fix="remove <!DOCTYPE …>, which Hadoop does not need"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.texts.clear()
        if not self.open:
            if name != "configuration":
                fix = "put the properties in <configuration> … </configuration>"
                why = f"its outermost element is {quoted(name)}"
                raise refusal(self._place(), what="is not a Hadoop configuration", why=why, fix=fix)
            self.level.name(self.only, self.only, self._place())
        elif name == "property" and self.property is None:
            place = self._place()
            self.property = _Property(
                name=attributes.get("name"),
                value=attributes.get("value"),
                place=place,
                name_place=place,
                start=self._offset(),
            )
        elif name in {"name", "value"} and self.property:
            self.property.content = self.passage.text.find(">", self._offset()) + 1
            if name == "name":
                self.property.name_place = self._place()
        elif name.rpartition(":")[2] == "include":
            fix = "replace the include with the properties of that file"
            self.level.problems.add(self._place(), "cannot be read", "it includes another file", fix)
        self.open.append(name)

    def _end(self, name: str) -> None:
        self.open.pop()
        text = "".join(self.texts).replace(LESS, "<").replace(GREATER, ">").strip()
        self.texts.clear()
        if self.property is None:
            return
        if name == "name":
            self.property.name, self.property.name_written = text, self._written(self.property.content, text)
        elif name == "value":
            self.property.value, self.property.value_written = text, self._written(self.property.content, text)
        elif name == "property":
            self._put(self.property)
            self.property = None

    def _offset(self) -> int:
        """Return the place of what the parser reads now."""
        index = self.parser.CurrentByteIndex
        if self.bytes is None:
            return index
        at, offset = self.last
        self.last = index, offset + len(self.bytes[at:index].decode())
        return self.last[1]

    def _written(self, start: int, text: str) -> Written | None:
        """Return where the content of the element stands that ends here; None for one with comments or CDATA."""
        raw = self.passage.text[start : self._offset()]
        if unescape(raw).strip() != text or not text:
            return None
        start += len(raw) - len(raw.lstrip())
        return Written(passage=self.passage, start=start, end=start + len(raw.strip()), notation=Notation.XML)

    def _whole(self, element: _Property) -> Written | None:
        """Return the element that ends here with the lines that it fills; None for one with a comment."""
        text = self.passage.text
        start, end = element.start, text.find(">", self._offset()) + 1
        if "<!--" in text[start:end]:
            return None
        if line := alone_on_line(text, start, end):
            start, end = line
        return Written(passage=self.passage, start=start, end=end, notation=Notation.XML)

    def _put(self, element: _Property) -> None:
        name = (element.name or "").strip()
        if not name or element.value is None:
            missing = "value" if name else "name"
            why = f"Hadoop silently skips this property, because it has no <{missing}>"
            self.level.problems.add(
                element.place, name or "property", why, f"add a <{missing}>, or remove the property"
            )
            return
        if reason := excess(name) or excess(element.value):
            self.level.problems.add(element.place, quoted(name), reason, SHORTEN)
            return
        line = element.name_place.line
        setting = Setting(classification=self.only, key=name, value=element.value.strip(), line=line)
        key, value = element.name_written, element.value_written
        written = WrittenSetting(setting=setting, key=key, value=value, whole=self._whole(element))
        self.level.put(setting, written, element.name_place)
