from __future__ import annotations

import pytest

from tools.keys.artifacts import HBASE, Artifact
from tools.keys.jar import JarKeys
from tools.keys.refresh import Column, _cells, _text

CELLS: tuple[tuple[str | None, frozenset[str] | None, str], ...] = (
    ("1", None, "1"),
    ("1", frozenset({"2"}), "1"),
    ("", None, "(empty)"),
    ("", frozenset(), "(empty)"),
    ("", frozenset({"2"}), "2"),
    (None, frozenset(), "(in code)"),
    (None, frozenset({"2"}), "2"),
    (None, frozenset({"2", "3"}), "(in code)"),
    (" a,\n   b ", None, "a, b"),
    ("x" * 121, None, "x" * 117 + "..."),
)


@pytest.mark.parametrize(("listed", "in_code", "cell"), CELLS)
def test_default_file_is_believed_before_code(listed: str | None, in_code: frozenset[str] | None, cell: str) -> None:
    jar = JarKeys(
        in_default_file={} if listed is None else {"hbase.some": listed},
        in_code={} if in_code is None else {"hbase.some": in_code},
    )
    assert _cells([jar]) == {"hbase.some": cell}


def test_table_names_the_jars_that_stand_in() -> None:
    line = HBASE[-2]
    server, client = (Artifact(group=line.group, module=m, version=line.version) for m in ("hbase-server", "hbase-x"))
    other = Artifact(group=line.group, module="hbase-client", version="2.6.4")
    jars = {"hbase-server": server, "hbase-x": client, "hbase-client": other}
    text = _text("Apache HBase", [Column(line=line, cells={"hbase.b": "1", "hbase.a": "(in code)"}, jars=jars)])
    assert (
        "from hbase-server, hbase-x; not found on Maven Central, so taken from the nearest: hbase-client-2.6.4" in text
    )
    assert text.endswith(f"key,{line.version}\nhbase.a,(in code)\nhbase.b,1\n")
