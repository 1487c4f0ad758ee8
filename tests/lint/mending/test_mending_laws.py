"""Laws of the correction of files: nothing else changes, the result reads as meant, and a second run does nothing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.linter.finding import Report, Severity
from warmbase.linter.lint import lint
from warmbase.linter.mending import Mending, mend
from warmbase.linter.reader import read_subject

SITE = "hbase-site"
SOUND = {
    "hbase.rootdir": "s3://data/hbase/",
    "hbase.bucketcache.size": "8192",
    "hbase.bucketcache.ioengine": "files:/mnt1/cache",
    "hbase.rpc.timeout": "60000",
    "hbase.rs.cacheblocksonwrite": "false",
    "com.example.note": 'it\'s <b> & "co" $HOME `x` \\ ü',
}


class Mistake(Struct, frozen=True, kw_only=True):
    """A key with a wrong spelling or value, and the setting that is right."""

    rule: str
    key: str
    value: str
    right_key: str
    right_value: str


MISTAKES = (
    Mistake(
        rule="WB101",
        key="hbase.regionserver.handlers.count",
        value="60",
        right_key="hbase.regionserver.handler.count",
        right_value="60",
    ),
    Mistake(
        rule="WB104",
        key="hbase.hregion.memstore.flush.size",
        value="128MB",
        right_key="hbase.hregion.memstore.flush.size",
        right_value="134217728",
    ),
    Mistake(
        rule="WB104",
        key="zookeeper.session.timeout",
        value="1.5 min",
        right_key="zookeeper.session.timeout",
        right_value="90000",
    ),
    Mistake(
        rule="WB202",
        key="hbase.bucketcache.bucket.sizes",
        value="9216,66000",
        right_key="hbase.bucketcache.bucket.sizes",
        right_value="9216,66048",
    ),
    Mistake(
        rule="WB104",
        key="hbase.bucketcache.writer.queuelength",
        value="1,024",
        right_key="hbase.bucketcache.writer.queuelength",
        right_value="1024",
    ),
    Mistake(rule="WB222", key="hbase.bucketcache.combinedcache.enabled", value="false", right_key="", right_value=""),
)


def as_json(pairs: list[tuple[str, str]], indent: int | None) -> str:
    return json.dumps([{"Classification": SITE, "Properties": dict(pairs)}], indent=indent, ensure_ascii=False)


def as_flow(pairs: list[tuple[str, str]], indent: int | None) -> str:
    document = {"ReleaseLabel": "emr-7.12.0", "Configurations": json.loads(as_json(pairs, indent))}
    return json.dumps(document, indent=indent)


def as_script(pairs: list[tuple[str, str]], indent: int | None) -> str:
    quoted = shlex.quote(as_json(pairs, indent))
    return f"#!/bin/bash\n# a cluster\naws emr create-cluster --name x \\\n  --configurations {quoted}\necho done\n"


def as_double_quoted(pairs: list[tuple[str, str]], indent: int | None) -> str:
    text = as_json(pairs, indent)
    for special in '\\"$`':
        text = text.replace(special, f"\\{special}")
    return f'aws emr create-cluster --configurations "{text}" # a cluster\n'


def as_heredoc_file(pairs: list[tuple[str, str]], indent: int | None) -> str:
    return (
        f"cat > ./hbase.json <<'EOF'\n{as_json(pairs, indent)}\nEOF\n"
        "aws emr create-cluster --name x --configurations file://hbase.json\n"
    )


def as_heredoc_word(pairs: list[tuple[str, str]], indent: int | None) -> str:
    text = as_json(pairs, indent)
    for special in "\\$`":
        text = text.replace(special, f"\\{special}")
    return f'aws emr create-cluster --configurations "$(cat <<EOF\n{text}\nEOF\n)" --name x\n'


def as_shorthand(pairs: list[tuple[str, str]], indent: int | None) -> str:
    del indent
    texts = (value.replace("\\", "\\\\").replace('"', '\\"') for _, value in pairs)
    members = ",".join(f'{key}="{text}"' for (key, _), text in zip(pairs, texts, strict=True))
    word = f"Classification={SITE},Properties={{{members}}}"
    return f"aws emr create-cluster --configurations {shlex.quote(word)} --name x\n"


def as_yaml(pairs: list[tuple[str, str]], indent: int | None) -> str:
    document = {"Configurations": [{"Classification": SITE, "Properties": dict(pairs)}]}
    text = yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=1_000, indent=indent or 2)
    return f"# ours\nReleaseLabel: emr-7.12.0 # the newest\n{text}"


def as_xml(pairs: list[tuple[str, str]], indent: int | None) -> str:
    blank = " " * (indent or 0)
    properties = (
        f"{blank}<property>\n{blank}<name>{key}</name>\n{blank}<value>{escape(value)}</value>\n"
        f"{blank}<!-- ours -->\n{blank}</property>\n"
        if index % 2
        else f"{blank}<property><name>{key}</name><value>{escape(value)}</value></property>\n"
        for index, (key, value) in enumerate(pairs)
    )
    return f"<?xml version='1.0'?>\n<!-- ü -->\n<configuration>\n{''.join(properties)}</configuration>\n"


FORMS: dict[str, Callable[[list[tuple[str, str]], int | None], str]] = {
    "settings.json": as_json,
    "flow.json": as_flow,
    "create.sh": as_script,
    "double.sh": as_double_quoted,
    "heredoc.sh": as_heredoc_file,
    "word.sh": as_heredoc_word,
    "shorthand.sh": as_shorthand,
    "cluster.yaml": as_yaml,
    "hbase-site.xml": as_xml,
}


def mending_of(file: Path) -> Mending:
    return mend(lambda: report_of(file))


def report_of(file: Path) -> Report:
    return lint(subject_of(file))


def subject_of(file: Path) -> ClusterSpec:
    return read_subject(file, "emr-7.12.0")


def severe(report: Report) -> set[tuple[str, str]]:
    return {(finding.id, finding.property) for finding in report.findings if finding.severity is not Severity.INFO}


@pytest.mark.parametrize("name", list(FORMS))
@settings(max_examples=8, deadline=None)
@given(
    mistakes=st.lists(st.sampled_from(MISTAKES), min_size=1, max_size=4, unique=True),
    order=st.randoms(use_true_random=False),
    indent=st.sampled_from([None, 2, 4]),
    coding=st.sampled_from([("\n", ""), ("\r\n", ""), ("\n", "\ufeff"), ("\r\n", "\ufeff")]),
)
@pytest.mark.thorough
def test_only_the_mistakes_change(
    *, name: str, mistakes: list[Mistake], order: object, indent: int | None, coding: tuple[str, str]
) -> None:
    pairs = [*SOUND.items(), *((mistake.key, mistake.value) for mistake in mistakes)]
    order.shuffle(pairs)  # type: ignore[attr-defined]
    ends, mark = ("\n", coding[1]) if name.endswith(".sh") else coding
    content = (mark + FORMS[name](pairs, indent).replace("\n", ends)).encode()
    with TemporaryDirectory() as folder:
        file = Path(folder, name)
        file.write_bytes(content)
        mending = mending_of(file)
        after = mending.after[file]
        file.write_bytes(after)
        assert mending_of(file).changed == (), "a second run changes nothing"
        values = {key: setting.value for (_, key), setting in subject_of(file).settings.items()}
        assert severe(report_of(file)) <= severe(mending.earlier)
    wanted = {**SOUND, **{mistake.key: mistake.value for mistake in mistakes}}
    removable = {(finding.id, finding.property) for finding in mending.mended}
    for mistake in mistakes:
        if mistake.right_key or (mistake.rule, mistake.key) in removable:
            del wanted[mistake.key]
        if mistake.right_key:
            wanted[mistake.right_key] = mistake.right_value
    assert values == wanted
    assert untouched(content, mistakes) == untouched(after, mistakes)


def untouched(content: bytes, mistakes: list[Mistake]) -> list[str]:
    """Return the lines of a text that have no part of a mistake or of its correction."""
    texts = [text for one in mistakes for text in (one.key, one.value, one.right_key, one.right_value) if text]
    lines = content.decode().splitlines()
    return [line.rstrip(",\r\n") for line in lines if not any(text in line for text in texts)]
