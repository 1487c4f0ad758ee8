"""Any text that replaces a value reads back as that text, and everything around it stays."""

from __future__ import annotations

from contextvars import copy_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lint.mending.test_mending_laws import FORMS
from warmbase.linter.reader import read_subject
from warmbase.linter.reader.source_text import CONTENTS, WRITTEN, WrittenSetting

PAIRS = [("hbase.rpc.timeout", "60000"), ("com.example.name", "plain"), ("hbase.tmp.dir", "/mnt/x")]
TEXTS = st.text(st.sampled_from("ab1 '\"\\<>&,:={}[]#-.ü"), min_size=1, max_size=8).filter(
    lambda text: text == text.strip()
)


def written_in(file: Path, content: bytes) -> dict[str, WrittenSetting]:
    written: list[WrittenSetting] = []
    context = copy_context()
    context.run(CONTENTS.set, {file: content})
    context.run(WRITTEN.set, written)
    context.run(read_subject, file, "emr-7.12.0")
    return {one.setting.key: one for one in written}


@pytest.mark.parametrize("name", list(FORMS))
@settings(max_examples=25, deadline=None)
@given(text=TEXTS)
def test_a_new_value_reads_back(name: str, text: str) -> None:
    content = FORMS[name](PAIRS, 2).encode()
    with TemporaryDirectory() as folder:
        file = Path(folder, name)
        before = written_in(file, content)
        place = before["com.example.name"].value
        assert place is not None
        new = place.replaced(text)
        assert new is not None
        plain = content.decode()
        mended = plain[: new.start] + new.text + plain[new.end :]
        after = written_in(file, mended.encode())
    values = {key: one.setting.value for key, one in after.items()}
    assert values == {**dict(PAIRS), "com.example.name": text}
