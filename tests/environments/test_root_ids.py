"""The ids of request metrics and lifecycle rules: each is one prefix's alone, and S3 accepts it."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from warmbase.dashboards.boards import of_root
from warmbase.environments.environment import METRICS_ID_LENGTH, RULE_ID_LENGTH, Root
from warmbase.environments.reader.schema import ROOT_FORM

PART = st.from_regex(r"[A-Za-z0-9_=-][A-Za-z0-9._=-]{0,90}", fullmatch=True)
PREFIX = st.one_of(
    st.lists(PART, min_size=1, max_size=6).map("/".join),
    st.lists(st.sampled_from(["a", "2", "F", "2F", "_", "__", "_2F", ".", "-", "=", "/"]), min_size=1, max_size=60).map(
        "".join
    ),
    st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable()),
)


def ids(prefix: str) -> tuple[str, str]:
    """Return the id of the request metrics, and that of the lifecycle rule."""
    root = Root(bucket="our-data", prefix=prefix, existing=True)
    return root.metrics_id, root.uploads_rule_id


@given(PREFIX, PREFIX)
@example("a/b", "a-b")
@example("a/b", "a.b")
@example("hbase", "hbase-root")
@example("a=b", "a_3Db")
@example("x" * 60, "x" * 61)
@example("x" * 300 + "y", "x" * 300 + "z")
def test_no_two_prefixes_share_an_id(prefix: str, other: str) -> None:
    assume(prefix != other)
    assert not set(ids(prefix)) & set(ids(other))


@given(PREFIX, st.data())
def test_a_small_change_of_a_prefix_is_a_change_of_its_id(prefix: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(prefix)))
    other = prefix[:place] + data.draw(st.sampled_from("a/._-=2F")) + prefix[place:]
    assert not set(ids(prefix)) & set(ids(other))


@given(PREFIX)
@example("hbase")
@example("x" * 1000)
def test_s3_accepts_every_id(prefix: str) -> None:
    for identity, length in zip(ids(prefix), (METRICS_ID_LENGTH, RULE_ID_LENGTH), strict=True):
        assert re.fullmatch(r"[A-Za-z0-9._-]+", identity)
        assert len(identity) <= length


@given(PREFIX)
def test_a_prefix_can_be_read_back(prefix: str) -> None:
    for identity in ids(prefix):
        if "__" not in identity and identity != "hbase-root":
            _, _, text = identity.partition(".")
            assert unquote(text.replace(".", "/").replace("_", "%")) == prefix


@pytest.mark.parametrize(
    ("prefix", "identity"),
    [
        ("hbase", "hbase-root"),
        ("hbase-a", "hbase-root.hbase-a"),
        ("teams/my_hbase", "hbase-root.teams.my_5Fhbase"),
        ("v=1/a.b", "hbase-root.v_3D1.a_2Eb"),
        ("x" * 53, "hbase-root." + "x" * 53),
        ("x" * 54, "hbase-root." + "x" * 35 + "__45f316e10b2c99ab"),
    ],
)
def test_ids_stay_as_they_are(prefix: str, identity: str) -> None:
    """Another id would end the curves of every graph, and add a bill for the second request metrics."""
    assert re.fullmatch(ROOT_FORM, f"s3://our-data/{prefix}/")
    root = Root(bucket="our-data", prefix=prefix, existing=True)
    assert root.metrics_id == identity
    assert of_root("GetRequests", root).dimensions == {"BucketName": "our-data", "FilterId": identity}
