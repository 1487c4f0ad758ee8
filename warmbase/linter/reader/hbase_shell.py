"""The coprocessors of tables, from HBase shell scripts and from the output of `describe`.

The statements of a file apply in their order, as in the shell: `create` and `describe` state all coprocessors of a
table, `alter` adds or removes some, and `drop` removes all. A statement may be part of a shell script that passes it to
`hbase shell`. Source: HBase 2.6 admin.rb (create, alter), describe.rb, formatter.rb, TableDescriptorBuilder.toString.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from warmbase.emr.cluster_spec import ClusterSpec, TableCoprocessor
from warmbase.hfile.descriptor import coprocessor_class
from warmbase.linter.reader.source_text import SourceText, refusal

HBASE_SHELL: Final = "hbase-shell"
"""The name that lint gives such a file in place of a classification: it holds no settings."""
START: Final = re.compile(
    r"(?<![\w.$-])(?P<verb>create|alter|alter_async|drop)[ \t]*+\(?[ \t]*+"
    r"(?P<quote>['\"])(?P<name>[\w.:-]{1,999})(?P=quote)"
    r"|^[ \t]*+'?(?P<described>[\w.:-]{1,999}+)'?,\s{0,9}\{TABLE_ATTRIBUTES\s{0,9}=>",
    re.MULTILINE,
)
DESCRIBED: Final = re.compile(r"COLUMN FAMILIES|^[ \t]*+\{NAME|^[ \t]*+$", re.MULTILINE)
WRAPPED: Final = re.compile(r"(?<![ \t])[ \t]*+\n[ \t]*+")
TOKEN: Final = re.compile(
    r"(?P<text>'(?>(?:[^'\\\n]|\\.)*)'|\"(?>(?:[^\"\\\n]|\\.)*)\")|(?P<comment>#[^\n]*+)|(?P<joined>\\\n)"
    r"|(?P<blank>[ \t]++)|(?P<word>[\w$.]++)|(?P<mark>=>|.|\n)"
)
COMMENT: Final = re.compile(r"(?:^|\s)#")
# judgement: a statement follows the start of its line, a prompt or `echo` within this many characters.
LONGEST_PREFIX: Final = 1_000
MOST_TABLES: Final = 10_000  # judgement: HBase holds some thousand tables
ATTRIBUTE: Final = re.compile(r"coprocessor\w*(?:\$\d+)?", re.IGNORECASE)
NUMBERED: Final = re.compile(r"coprocessor\$\d+", re.IGNORECASE)


class _Token(Struct, frozen=True):
    text: str
    offset: int
    is_mark: bool


class _Pair(Struct, frozen=True):
    """An attribute of a statement with its values: `KEY => 'value'`, or a list of values."""

    key: str
    values: tuple[str, ...]
    offset: int


class _Tables(Struct, frozen=True):
    """The coprocessors of each table by attribute, as the statements so far leave them."""

    attributes: dict[str, dict[str, TableCoprocessor]] = field(default_factory=dict)

    def apply(self, verb: str, table: str, pairs: list[_Pair], script: SourceText) -> None:
        """Apply one statement."""
        attributes = self.attributes.setdefault(table, {})
        if verb in {"create", "describe", "drop"}:
            attributes.clear()
        methods = {value for pair in pairs if pair.key == "METHOD" for value in pair.values}
        for pair in pairs:
            if pair.key == "NAME" and "table_att_unset" in methods:
                for key in pair.values:
                    attributes.pop(key.lower(), None)
            elif pair.key == "CLASSNAME" and "table_remove_coprocessor" in methods:
                for key, coprocessor in list(attributes.items()):
                    if coprocessor.class_name in pair.values:
                        del attributes[key]
            elif ATTRIBUTE.fullmatch(pair.key) or pair.key == "CLASSNAME":
                key = pair.key.lower() if NUMBERED.fullmatch(pair.key) else f"coprocessor${len(attributes) + 1}"
                place = script.place(pair.offset)
                attributes[key] = TableCoprocessor(
                    table=table, class_name=coprocessor_class(pair.values[0]), where=str(place), line=place.linted_line
                )


def has_tables(text: str) -> bool:
    """Return whether a text has a statement about a table, or the output of `describe`."""
    return next(_starts(text, 0), None) is not None


def table_coprocessors(script: SourceText) -> tuple[TableCoprocessor, ...]:
    """Return the coprocessors that tables have after all statements of a file, in their order.

    Raises InvalidInput for a file without a statement about a table.
    """
    tables, at = _Tables(), 0
    while start := next(_starts(script.text, at), None):
        if len(tables.attributes) > MOST_TABLES:
            why = f"the file has over {MOST_TABLES:,} tables"
            raise refusal(script.place(at), what="is too long", why=why, fix="pass fewer tables at once")
        if start["described"]:
            # A terminal breaks the lines of a description anywhere, even in a name.
            end = DESCRIBED.search(script.text, start.end())
            at = end.start() if end else len(script.text)
            breaks, length, line_start = [], 0, start.end()
            for wrap in WRAPPED.finditer(script.text, start.end(), at):
                length += wrap.start() - line_start
                breaks.append(length)
                line_start = wrap.end()
            description = SourceText(
                text=WRAPPED.sub("", script.text[start.end() : at]),
                source=script.source,
                breaks=tuple(breaks),
                first_line=script.place(start.end() - 1).line,
                cited=script.cited,
            )
            tables.apply("describe", start["described"], list(_pairs(_tokens(description, 0))), description)
        else:
            tokens = _tokens(script, start.end())
            at = max(start.end(), tokens[-1].offset if tokens else 0)
            tables.apply(start["verb"], start["name"], list(_pairs(tokens)), script)
    if not at:
        why = "the file has no create or alter of a table, and no output of describe"
        raise refusal(script.place(0), what="is not an HBase shell script", why=why, fix="pass one that names tables")
    return tuple(one for attributes in tables.attributes.values() for one in attributes.values())


def shell_subject(script: SourceText, release: str | None) -> ClusterSpec:
    """Return the tables of an HBase shell script as a cluster of which nothing else is known."""
    return ClusterSpec(
        source=script.source,
        release_label=release,
        settings={},
        only=HBASE_SHELL,
        coprocessors=table_coprocessors(script),
    )


def _starts(text: str, at: int) -> Iterator[re.Match[str]]:
    """Yield each start of a statement or description from an offset on, except in comments."""
    for start in START.finditer(text, at):
        prefix = text[max(0, start.start() - LONGEST_PREFIX) : start.start()].rpartition("\n")[2]
        if not COMMENT.search(prefix):
            yield start


def _tokens(script: SourceText, at: int) -> list[_Token]:
    """Return the tokens of a statement up to its end: a line break outside brackets that follows no comma or arrow."""
    tokens: list[_Token] = []
    depth = 0
    for token in TOKEN.finditer(script.text, at):
        text, kind = token[0], token.lastgroup
        if text == "\n":
            if depth <= 0 and not (tokens and tokens[-1].text in {",", "=>"} and tokens[-1].is_mark):
                break
        elif kind in {"text", "word"}:
            content = re.sub(r"\\(.)", r"\1", text[1:-1]).strip() if kind == "text" else text
            tokens.append(_Token(content, token.start(), is_mark=False))
        elif kind == "mark":
            if text in {";", '"', "'"} and depth <= 0:
                break
            depth += (text in "{[(") - (text in "}])")
            tokens.append(_Token(text, token.start(), is_mark=True))
    return tokens


def _pairs(tokens: list[_Token]) -> Iterator[_Pair]:
    """Yield each attribute that has a value or a list of values; the pairs of a nested object follow by themselves."""
    for index, token in enumerate(tokens):
        if not (token.is_mark and token.text == "=>") or not 0 < index < len(tokens) - 1:
            continue
        first = index + 1
        is_list = tokens[first].is_mark and tokens[first].text == "["
        last = first + 1
        while is_list and last < len(tokens) and tokens[last].text not in {"[", "]"}:
            last += 1
        values = tuple(value.text for value in tokens[first:last] if not value.is_mark)
        if values:
            yield _Pair(tokens[index - 1].text, values, tokens[index - 1].offset)
