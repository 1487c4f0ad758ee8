"""Lists of live files and descriptors of tables, whatever bytes they are: read, or refused by name and offset."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest
from hypothesis import strategies as st
from msgspec import Struct

from tests.hfile.damage import ReadFile
from tests.hfile.fuzzing import SLACK_BYTES, peak_bytes, refusal, tried
from tests.hfile.synthetic_file import message
from warmbase.hfile.cursor import Cursor
from warmbase.hfile.descriptor import descriptor, live_files
from warmbase.hfile.layout import FileEntry

pytestmark = pytest.mark.hypothesis  # `tried` takes its number of inputs from the profile

SHARE = 1 / 20
PATH = "data/default/t/0123456789abcdef0123456789abcdef/f/.filelist/f1.7"
LIVE = message(
    [(1, 1_700_000_000_000), *((2, message([(1, b"abc%d" % number), (2, 9)])) for number in range(3)), (3, 1)]
)
FAMILY = message([(1, b"f"), (2, message([(1, b"BLOCKSIZE"), (2, b"8192")])), (3, message([(1, b"k"), (2, b"v")]))])
TABLE = b"PBUF" + message(
    [(1, message([(1, b"default"), (2, b"t")])), (2, message([(1, b"a"), (2, b"b")])), (3, FAMILY)]
)


class One(Struct, dict=True):
    """A store of one file."""

    data: bytes
    url: str = "held"

    def files(self) -> Iterator[FileEntry]:
        yield FileEntry(PATH, len(self.data), "1")

    def readable(self, stored: FileEntry) -> ReadFile:
        return ReadFile(self.data, stored.path)


def a_list(told: bytes) -> bytes:
    """As a tracker writes it: length, message, checksum."""
    return len(told).to_bytes(4, "big") + told + zlib.crc32(told).to_bytes(4, "big")


@st.composite
def damaged(draw: st.DrawFn, right: bytes) -> bytes:
    """Another piece put for one that is there, or any bytes."""
    begin, end = sorted(draw(st.integers(0, len(right))) for _ in "12")
    other = draw(st.binary(max_size=30) | st.just(right[begin:end] * 2))
    return draw(st.sampled_from([right[:begin] + other + right[end:], right[:end], other]))


LISTS = damaged(LIVE).map(a_list) | damaged(a_list(LIVE))


def test_what_is_damaged_is_right_at_first() -> None:
    assert live_files(One(a_list(LIVE)), [*One(a_list(LIVE)).files()]) == frozenset({"abc0", "abc1", "abc2"})
    assert descriptor(Cursor("t", 0, TABLE)).families == {"f": {"BLOCKSIZE": "8192", "k": "v"}}


def test_any_list_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    def law(data: bytes) -> None:
        store = One(data)
        refusal(lambda: live_files(store, [*store.files()]), PATH)
        assert peak_bytes(lambda: live_files(store, [*store.files()])) <= len(data) + SLACK_BYTES

    tried(request, law, LISTS, SHARE, "lists")


def test_any_descriptor_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    def law(data: bytes) -> None:
        refusal(lambda: descriptor(Cursor(PATH, 0, data)), PATH)

    tried(request, law, damaged(TABLE) | damaged(TABLE[4:]).map(b"PBUF".__add__), SHARE, "descriptors")
