"""The program that systemd runs before each RegionServer start, taken out of the action that carries it."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bootstrap_actions.before_regionserver import PROGRAM, Volume
from warmbase.ground.units import GIB


def varint(number: int) -> bytes:
    """Return a protobuf integer: seven bits a byte, least first, the top bit set on all but the last."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def header(announced: int, magic: bytes = b"V2UF") -> bytes:
    return magic + (1_000_000).to_bytes(8, "big") + announced.to_bytes(8, "big", signed=True)


def index(chunks: list[int], announced: int | None = None) -> bytes:
    """Return a persistence index of HBase 2.6.1 to 2.6.4 with chunks of these sizes in bytes."""
    body = b"".join(varint(size) + b"\xff" * size for size in chunks)
    return header(len(chunks) if announced is None else announced) + body


def streamed(messages: list[int]) -> bytes:
    """An index as HBase 2.6.5 and later lay it out, by what their source says: not checked against HBase."""
    return b"V2UF" + b"".join(varint(size) + b"\xff" * size for size in messages)


def unchunked(size: int) -> bytes:
    """Return an index as HBase 2.6.0 and before wrote it: one message."""
    return b"PBUF" + varint(size) + b"\xff" * size


def index_damage() -> Callable[[Path, str], str]:
    """Return the judgement itself, for cases by the hundred."""
    module: dict[str, Any] = {"__name__": "before_regionserver"}
    exec(compile(PROGRAM, "before-regionserver", "exec"), module)  # noqa: S102 - our own program
    judgement: Callable[[Path, str], str] = module["index_damage"]
    return judgement


def damage(content: bytes, index_format: str = "chunked") -> str:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        return index_damage()(Path(file.name), index_format)


def test_directories_are_made_for_the_owner_alone(volume: Volume) -> None:
    volume.index.parent.rmdir()
    answer = volume.start()
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    for directory in (volume.cache.parent, volume.index.parent):
        assert directory.stat().st_mode & 0o7777 == 0o750


@pytest.mark.parametrize("chunks", [[200], [200, 100], [127, 128, 16_383, 16_384, 1]])
def test_good_index_is_left_alone(volume: Volume, chunks: list[int]) -> None:
    volume.index.write_bytes(index(chunks))
    answer = volume.start()
    assert answer.returncode == 0, answer.stderr
    assert volume.index.read_bytes() == index(chunks)
    assert volume.beside_index() == ["index"]


GOOD = index([300, 200, 100])
STREAMED = streamed([40, 300, 200])
DAMAGED = [
    ("chunked", b"", "0 bytes: nothing follows the first 20"),
    ("chunked", b"V2", "2 bytes: nothing follows the first 20"),
    ("chunked", b"V2UF", "4 bytes: nothing follows the first 20"),
    ("chunked", header(1), "20 bytes: nothing follows the first 20"),
    ("chunked", b"XXXX" + GOOD[4:], "begins with b'XXXX', not b'V2UF'"),
    ("chunked", bytes(len(GOOD)), "begins with b'\\x00\\x00\\x00\\x00'"),
    ("chunked", index([300, 200], announced=3), "2 chunks, 3 announced"),
    ("chunked", index([300], announced=-1), "1 chunks, -1 announced"),
    ("chunked", GOOD[:-1], "message 3 of 3, at byte 524 of 624, is cut off"),
    ("chunked", GOOD[:21], "message 1 of 3, at byte 20 of 21, is cut off"),
    ("chunked", GOOD + b"\xff", "message 4 of 3, at byte 625 of 626, is cut off or not a message"),
    ("chunked", GOOD + bytes(4096), "message 4 of 3, at byte 625 of 4721, is cut off or not a message"),
    ("chunked", header(1) + b"\xff" * 11, "message 1 of 1, at byte 20 of 31"),
    ("chunked", b"PBUF", "4 bytes: nothing follows the first 4"),
    ("chunked", unchunked(300)[:-1], "message 1, at byte 4 of 305, is cut off"),
    ("chunked", STREAMED, "message 1 of -"),  # what its first bytes would announce is a negative number
    ("streamed", b"", "0 bytes: nothing follows the first 4"),
    ("streamed", b"V2UF", "4 bytes: nothing follows the first 4"),
    ("streamed", b"XXXX" + STREAMED[4:], "begins with b'XXXX', not b'V2UF'"),
    ("streamed", STREAMED[:-1], "message 3, at byte 347 of 548, is cut off"),
    ("streamed", STREAMED + bytes(4096), "message 4, at byte 549 of 4645, is cut off or not a message"),
    ("streamed", GOOD, "message 1, at byte 4 of 625, is cut off or not a message"),
]


@pytest.mark.parametrize(("index_format", "content", "reason"), DAMAGED)
def test_damaged_index_is_moved_aside(volume: Volume, index_format: str, content: bytes, reason: str) -> None:
    volume.index.write_bytes(content)
    answer = volume.start(f"--index-format={index_format}")
    assert answer.returncode == 0
    assert reason in answer.stderr
    assert "touch /etc/warmbase/skip-index-guard" in answer.stderr
    (aside,) = volume.beside_index()
    assert aside.startswith("index.damaged-")
    assert (volume.index.parent / aside).read_bytes() == content


@pytest.mark.parametrize(
    ("index_format", "content"),
    [
        # The cache grew while it was dumped: HBase reads the announced chunks and ignores the rest.
        ("chunked", index([300, 200, 100], announced=2)),
        ("chunked", index([300], announced=0)),
        # HBase 2.6.0 and before.
        ("chunked", unchunked(300)),
        ("streamed", unchunked(300)),
        ("streamed", STREAMED),
        # An empty cache: only the message that describes it.
        ("streamed", streamed([40])),
    ],
)
def test_index_that_hbase_reads_is_not_called_damaged(index_format: str, content: bytes) -> None:
    assert damage(content, index_format) == ""


@settings(max_examples=60, deadline=None)
@given(data=st.data(), chunks=st.lists(st.integers(1, 20_000), min_size=1, max_size=6))
def test_cutting_a_good_index_anywhere_is_noticed(data: st.DataObject, chunks: list[int]) -> None:
    content = index(chunks)
    assert damage(content) == ""
    cut = data.draw(st.integers(0, len(content) - 1))
    assert damage(content[:cut]) != ""


@settings(max_examples=60, deadline=None)
@given(data=st.data(), messages=st.lists(st.integers(1, 20_000), min_size=1, max_size=6))
def test_cutting_a_streamed_index_inside_a_message_is_noticed(data: st.DataObject, messages: list[int]) -> None:
    """Between two messages it cannot be: how many there are is written nowhere."""
    content = streamed(messages)
    ends = {len(streamed(messages[:count])) for count in range(1, len(messages) + 1)}
    cut = data.draw(st.integers(0, len(content)))
    assert (damage(content[:cut], "streamed") == "") == (cut in ends)


@settings(max_examples=300, deadline=None)
@given(content=st.binary(max_size=400), index_format=st.sampled_from(["chunked", "streamed"]), magic=st.booleans())
def test_whatever_the_bytes_are_there_is_a_judgement(content: bytes, index_format: str, magic: bool) -> None:  # noqa: FBT001
    judged = damage((b"V2UF" if magic else b"") + content, index_format)
    assert "\n" not in judged
    if not magic and content[:4] not in {b"V2UF", b"PBUF"}:
        assert judged


def test_index_of_many_gib_is_walked_by_seeking(volume: Volume) -> None:
    with volume.index.open("wb") as file:
        file.write(header(3))
        for _ in range(3):
            file.write(varint(GIB))
            file.seek(GIB, os.SEEK_CUR)  # a hole: nothing is written
        file.truncate()
    judge = index_damage()
    io = Path("/proc/self/io")
    if not io.exists():
        pytest.skip("no /proc/self/io to count what is read")
    before = int(io.read_text().split()[1])
    assert judge(volume.index, "chunked") == ""
    assert int(io.read_text().split()[1]) - before < 64 * 1024


def test_last_two_damaged_copies_are_kept(volume: Volume) -> None:
    for epoch in (1_700_000_001, 1_700_000_002, 1_700_000_003):
        (volume.index.parent / f"index.damaged-{epoch}").touch()
    volume.index.write_bytes(header(5))
    assert volume.start().returncode == 0
    older, newest = volume.beside_index()
    assert older == "index.damaged-1700000003"
    assert newest > older


def test_dump_cut_short_by_a_crash_is_removed_and_nothing_else(volume: Volume) -> None:
    others = ["index", "index.damaged-1700000001", "index1", "index17000000000001", "other1700000000000"]
    for name in others:
        (volume.index.parent / name).write_bytes(GOOD)
    (volume.index.parent / "index1700000000000").touch()
    answer = volume.start()
    assert "index1700000000000: a dump that a crash cut short" in answer.stderr
    assert volume.beside_index() == sorted(others)


def test_fault_of_the_guard_itself_does_not_stop_the_start(volume: Volume) -> None:
    volume.index.write_bytes(GOOD)
    volume.program.write_text(PROGRAM.replace("size = index.stat().st_size", "size = int(str(index))"))  # raises
    answer = volume.start()
    assert answer.returncode == 0
    assert "index guard failed: ValueError" in answer.stderr
    assert "touch /etc/warmbase/skip-index-guard" in answer.stderr


def test_unmounted_volume_stops_the_start(volume: Volume) -> None:
    answer = volume.start(f"--volume={volume.index.parent}")
    assert answer.returncode == 1
    assert "is not mounted\n  the cache would fill the root disk" in answer.stderr
    assert "fix: " in answer.stderr


def test_missing_owner_stops_the_start_by_name(volume: Volume) -> None:
    answer = volume.start("--owner=no-such-user")
    assert answer.returncode == 1
    assert "no-such-user" in answer.stderr
