"""A look at a whole root: what is counted and what is not, intervals that have the truth, and one that goes on."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from tests.hfile.synthetic import DELETED_NOW, ENTRY_BYTES, Content, SyntheticRoot, message, path, seeded
from tests.patience import HANG_SECONDS
from warmbase.environments.reader.inspection import inspection_text, read_inspection
from warmbase.ground.errors import InvalidInput
from warmbase.hfile.checkpoint import Checkpoint, UnreadableFile
from warmbase.hfile.inspection import DEAD, RootReport, SamplingOptions, inspect_root
from warmbase.hfile.layout import FileEntry

PROJECT = Path(__file__).parents[2]
PLAIN = Content(20, 65_800)
OTHER = Content(7, 65_800)


def quiet(_: str, __: int, ___: int) -> None:
    """Nothing is said."""


def inspect(root: SyntheticRoot, directory: Path, choice: SamplingOptions | None = None) -> RootReport:
    """One that ends, and keeps nothing."""
    kept = Checkpoint(directory / "kept.partial", root.url)
    found = inspect_root(root, choice or SamplingOptions(threads=2), kept, quiet)
    kept.remove()
    return found


@pytest.mark.parametrize(
    ("roots", "least"), [(15, 13), pytest.param(60, 55, marks=pytest.mark.thorough)], ids=["15", "60"]
)
def test_intervals_have_the_truth(roots: int, least: int, tmp_path: Path) -> None:
    """Blocks, cached bytes, L1 and cells each have an interval that holds the truth."""
    hits = dict.fromkeys(("blocks", "cached_bytes", "index_bytes", "cells"), 0)
    for seed in range(roots):
        contents = seeded(seed)
        found = inspect(SyntheticRoot(contents), tmp_path, SamplingOptions(seed=seed, threads=1))
        blocks = sum(content.blocks for content in contents.values())
        truth = {
            "blocks": blocks,
            "cached_bytes": sum(content.cached_bytes for content in contents.values()),
            "index_bytes": blocks * ENTRY_BYTES,
            "cells": sum(content.blocks * content.cells for content in contents.values()),
        }
        for name in hits:
            whole = found.total(name)
            hits[name] += whole.low * (1 - 1e-9) <= truth[name] <= whole.high * (1 + 1e-9)
    assert min(hits.values()) >= least, hits


@pytest.mark.thorough
def test_strata_are_drawn_independently_of_each_other(tmp_path: Path) -> None:
    """Files of one size, in the order of what they hold: the same places of every stratum would lean one way."""
    contents = {path(number): Content(5, 65_800, cells=10 + number // 10) for number in range(1500)}
    truth = sum(content.blocks * content.cells for content in contents.values())
    looks = (inspect(SyntheticRoot(contents), tmp_path, SamplingOptions(seed=seed, threads=1)) for seed in range(20))
    found = [each.total("cells") for each in looks]
    assert sum(each.low <= truth <= each.high for each in found) >= 17


def test_all_files_are_all_there_is(tmp_path: Path) -> None:
    contents = seeded(3)
    found = inspect(SyntheticRoot(contents), tmp_path, SamplingOptions(every=True, threads=2))
    whole = found.total("cached_bytes")
    assert whole.low == whole.high == sum(content.cached_bytes for content in contents.values())
    lengths = found.inspection("2026-11-20").lengths(compressed=False)
    assert lengths.blocks == sum(content.blocks for content in contents.values())


def test_a_seed_draws_the_same_files_and_another_one_others(tmp_path: Path) -> None:
    root = SyntheticRoot(seeded(4))
    first, same, other = (
        inspect(root, tmp_path, SamplingOptions(files=100, seed=seed, threads=threads)).total("cells")
        for seed, threads in ((1, 1), (1, 4), (2, 1))
    )
    assert first == same
    assert first != other


def a_list(*names: str, timestamp: int = 1, version: int = 1) -> bytes:
    """Return a list of live files, as the FILE tracker writes it."""
    entries = b"".join(message(f2=message(f1=name.encode(), f2=1)) for name in names)
    body = message(f1=timestamp) + entries + message(f3=version)
    return struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def a_descriptor(tracker: str) -> bytes:
    """Return the descriptor of a table with one family."""
    family = message(f1=b"f", f2=message(f1=b"BLOCKSIZE", f2=b"65536"))
    setting = message(f1=b"hbase.store.file-tracker.impl", f2=tracker.encode())
    return b"PBUF" + message(f1=message(f1=b"default", f2=b"t"), f3=family, f4=setting)


REGION = path(1).rsplit("/", 2)[0]
LIVE, DEAD_ONE = path(1), f"{REGION}/f/{'d' * 32}"
LIVE_NAME = LIVE.rpartition("/")[2]
ARCHIVED = f"archive/data/default/other/{'a' * 32}/f/{'b' * 32}"


def of_two(others: dict[str, bytes], tmp_path: Path) -> RootReport:
    """Return a root of a live file and another one."""
    return inspect(SyntheticRoot({LIVE: PLAIN, DEAD_ONE: OTHER}, others), tmp_path)


def test_files_that_no_list_names_are_dead(tmp_path: Path) -> None:
    found = of_two({f"{REGION}/f/.filelist/f1.7": a_list(LIVE_NAME)}, tmp_path)
    assert found.total("blocks").value == PLAIN.blocks
    assert found.apart[DEAD] == (1, OTHER.size_bytes)


@pytest.mark.parametrize(
    ("lists", "live"),
    [
        ({"f1.7": a_list(LIVE_NAME), "f1.3": a_list(LIVE_NAME, "d" * 32)}, 1),
        ({"f1.7": a_list("d" * 32, LIVE_NAME, timestamp=5), "f2.7": a_list(LIVE_NAME, timestamp=9)}, 1),
        ({"f1": a_list("d" * 32, LIVE_NAME)}, 2),
        ({"f1.7": a_list(LIVE_NAME)[:-5], "f1.3": a_list(LIVE_NAME, "d" * 32)}, 2),
        ({"f1.7": b""}, 0),
        ({"x1.7": a_list(LIVE_NAME)}, 2),
    ],
    ids=["the newest", "the later of two", "without a number", "cut off", "empty", "no list"],
)
def test_the_list_that_hbase_would_take_is_taken(lists: dict[str, bytes], live: int, tmp_path: Path) -> None:
    found = of_two({f"{REGION}/f/.filelist/{name}": data for name, data in lists.items()}, tmp_path)
    assert sum(family.files for family in found.families) == live


def test_a_list_that_was_replaced_meanwhile_costs_no_region(tmp_path: Path) -> None:
    """HBase writes another with each flush; what it named is live, and so is what came since."""
    root = SyntheticRoot({LIVE: PLAIN}, {f"{REGION}/f/.filelist/f1.7": DELETED_NOW})
    found = inspect(root, tmp_path)
    assert found.total("blocks").value == PLAIN.blocks
    assert "all files of the directory count" in found.unread[0][1]


def test_a_file_that_is_gone_counts_as_one_that_was_not_drawn(tmp_path: Path) -> None:
    """A compaction has put what it had into another one."""
    found = inspect(SyntheticRoot({LIVE: PLAIN}, {DEAD_ONE: DELETED_NOW}), tmp_path)
    [family] = found.families
    assert (family.unread, family.unread_bytes.value) == (0, 0)
    assert family.figures["blocks"].value > PLAIN.blocks


def test_links_of_dead_files_lead_nowhere_and_two_to_one_file_count_once(tmp_path: Path) -> None:
    link = f"other={'a' * 32}-{'b' * 32}"
    root = SyntheticRoot(
        {LIVE: PLAIN, ARCHIVED: OTHER}, {f"{REGION}/f/{link}": b"", f"{path(2).rpartition('/')[0]}/{link}": b""}
    )
    assert inspect(root, tmp_path).total("blocks").value == PLAIN.blocks + OTHER.blocks
    with_list = SyntheticRoot(root.contents, {**root.others, f"{REGION}/f/.filelist/f1.7": a_list(LIVE_NAME)})
    only = SyntheticRoot(with_list.contents, {name: data for name, data in with_list.others.items() if REGION in name})
    assert inspect(only, tmp_path).total("blocks").value == PLAIN.blocks


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "the CRC32 of a list of live files differs"),
        (lambda _: a_list(LIVE_NAME, version=9), "a list of live files of version 9"),
        (lambda data: b"\xff" + data[1:], "the length of a list is -"),
    ],
)
def test_a_damaged_list_is_said_and_nothing_is_guessed(damage: object, why: str, tmp_path: Path) -> None:
    assert callable(damage)
    found = of_two({f"{REGION}/f/.filelist/f1.7": damage(a_list(LIVE_NAME))}, tmp_path)
    assert found.families == ()
    assert found.apart["store files whose list cannot be read"][0] == 2
    [(directory, said)] = found.unread
    assert directory == f"{REGION}/f"
    assert why in said


@pytest.mark.parametrize(("tracker", "live"), [("DEFAULT", 2), ("default", 2), ("FILE", 1)])
def test_a_table_that_keeps_no_lists_has_no_dead_files(tracker: str, live: int, tmp_path: Path) -> None:
    """Lists of a time when it did are left over."""
    others = {
        f"{REGION}/f/.filelist/f1.7": a_list(LIVE_NAME),
        "data/default/t/.tabledesc/.tableinfo.0000000001.99": a_descriptor(
            "FILE" if tracker == "DEFAULT" else "DEFAULT"
        ),
        "data/default/t/.tabledesc/.tableinfo.0000000002.99": a_descriptor(tracker),
    }
    found = of_two(others, tmp_path)
    assert found.families[0].files == live
    assert found.families[0].inspected is not None
    assert found.families[0].inspected.block_bytes == 65536


def test_the_coprocessors_of_a_table_are_in_its_inspection(tmp_path: Path) -> None:
    values = {"coprocessor$1": "hdfs:///index.jar|org.example.Index|1001|a=b", "Coprocessor$2": "|org.Observer|"}
    attributes = b"".join(message(f2=message(f1=key.encode(), f2=value.encode())) for key, value in values.items())
    tables = {"data/default/t/.tabledesc/.tableinfo.0000000001.99": a_descriptor("DEFAULT") + attributes}
    inspection = of_two(tables, tmp_path).inspection("2026-11-20")
    assert inspection.coprocessors == {"t": ("org.Observer", "org.example.Index")}
    (file := tmp_path / "t.json").write_text(inspection_text(inspection))
    assert read_inspection(file) == inspection


@pytest.mark.parametrize(
    ("key", "name", "is_allowed"),
    [
        ("table", "ns:users.v2", True),
        ("table", "users'+x+'", False),
        ("table", "users\nexit", False),
        ("family", "my 'cf'", True),
        ("family", "cf\nexit", False),
        ("family", "a:b", False),
    ],
)
def test_an_inspection_has_names_that_hbase_allows(key: str, name: str, tmp_path: Path, *, is_allowed: bool) -> None:
    document = json.loads(inspection_text(of_two({}, tmp_path).inspection("2026-11-20")))
    document["families"][0][key] = name
    (file := tmp_path / "renamed.json").write_text(json.dumps(document))
    if is_allowed:
        assert name in {read_inspection(file).families[0].table, read_inspection(file).families[0].name}
    else:
        with pytest.raises(InvalidInput, match=rf"families\.0\.{key}"):
            read_inspection(file)


@pytest.mark.parametrize(
    ("there", "kind", "files"),
    [
        ({ARCHIVED: OTHER}, "archive", 2),
        ({ARCHIVED.removeprefix("archive/"): OTHER}, "links to files that are counted elsewhere", 1),
        ({}, "links that lead nowhere", 1),
    ],
)
def test_links_are_followed(there: dict[str, Content], kind: str, files: int, tmp_path: Path) -> None:
    link = f"{REGION}/f/other={'a' * 32}-{'b' * 32}"
    found = inspect(SyntheticRoot({LIVE: PLAIN, **there}, {link: b""}), tmp_path)
    [own] = [family for family in found.families if family.table == "t"]
    assert own.files == files
    assert (found.apart.get(kind, (0, 0))[0] > 0) is (kind != "archive")


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (ARCHIVED, "archive"),
        (".tmp/data/default/t/x", "temporary"),
        ("WALs/core-1,16020,1/x", "write-ahead logs"),
        ("oldWALs/x", "write-ahead logs"),
        ("MasterData/data/master/store/1595e783b53d99cd5eef43b6debb2682/proc/abc", "the master's own"),
        ("mobdir/data/default/t/x/f/abc", "MOB files"),
        (".hbase-snapshot/s/data.manifest", "snapshots"),
        ("data/hbase/meta/1588230740/info/abc", "HBase's own tables"),
        ("hbase.version", "others"),
        (f"{REGION}/.regioninfo", "descriptors and temporary files"),
        (f"{REGION}/.tmp/f/abc", "descriptors and temporary files"),
        (f"{REGION}/recovered.edits/12.seqid", "descriptors and temporary files"),
        (f"{REGION}/f/{'c' * 32}.{'a' * 32}", "references to files of split regions"),
        (f"{REGION}/f/no-name-of-ours", "others"),
        (f"data/default/a'b/{'a' * 32}/f/{'c' * 32}", "no table, because HBase does not allow the name"),
        (f"{REGION}/a\nb/{'c' * 32}", "descriptors and temporary files"),
        (f"{REGION}/a\udcff/{'c' * 32}", "names that are not UTF-8"),
    ],
)
def test_what_is_no_live_store_file_is_counted_apart(file: str, kind: str, tmp_path: Path) -> None:
    found = inspect(SyntheticRoot({LIVE: PLAIN}, {file: b"12345"}), tmp_path)
    assert found.apart == {kind: (1, 5)}
    assert found.families[0].files == 1


def test_marks_of_directories_are_no_files(tmp_path: Path) -> None:
    found = inspect(SyntheticRoot({LIVE: PLAIN}, {"data/": b"", "data/default_$folder$": b""}), tmp_path)
    assert (found.files, found.apart) == (1, {})


def test_what_cannot_be_read_counts_as_empty_and_is_said(tmp_path: Path) -> None:
    found = inspect(SyntheticRoot({LIVE: PLAIN}, {DEAD_ONE: b"no store file" * 1000}), tmp_path)
    [family] = found.families
    assert (family.files, family.files_read, family.unread) == (2, 1, 1)
    assert family.figures["blocks"].value == PLAIN.blocks
    assert family.unread_bytes.value == 13_000
    assert family.inspected is not None
    assert family.inspected.unread_bytes == 13_000
    assert found.unread[0][0] == DEAD_ONE


class Ended(Exception):
    """A stand-in for Ctrl-C, which a test raises."""


def test_a_look_that_was_ended_goes_on_and_finds_the_same(tmp_path: Path) -> None:
    root, choice = SyntheticRoot(seeded(5)), SamplingOptions(threads=2)
    file = tmp_path / "x.partial"

    def end_at(done: int) -> Checkpoint:
        def say(stage: str, at: int, _: int) -> None:
            if stage == "read" and at == done:
                raise Ended

        kept = Checkpoint(file, root.url)
        with pytest.raises(Ended):
            inspect_root(root, choice, kept, say)
        kept.close()
        return kept

    end_at(100)
    lines = file.read_text().splitlines()
    assert len(lines) > 100
    # The last line is cut off, as by a kill while it was written.
    file.write_text("\n".join(lines)[:-20])
    end_at(200)
    kept = Checkpoint(file, root.url)
    recalled = sum(kept.load(stored) is not None for stored in root.files())
    assert recalled >= 200
    found = inspect_root(root, choice, kept, quiet)
    kept.remove()
    assert not file.exists()
    assert found == inspect(root, tmp_path, choice)


def test_of_another_root_or_a_file_that_changed_nothing_is_recalled(tmp_path: Path) -> None:
    stored, file = FileEntry("a", 1, "1"), tmp_path / "x.partial"
    first = Checkpoint(file, "root")
    first.keep(stored, UnreadableFile("for a reason"))
    first.close()
    assert Checkpoint(file, "root").load(stored) == UnreadableFile("for a reason")
    assert Checkpoint(file, "root").load(stored._replace(stamp="2")) is None
    assert Checkpoint(file, "another root").load(stored) is None


LARGE = """
import json, sys, tempfile, time
from pathlib import Path
from warmbase.ground.errors import InvalidInput
from warmbase.hfile.checkpoint import Checkpoint
from warmbase.hfile.inspection import SamplingOptions, inspect_root
from tests.hfile.synthetic import Content, SyntheticRoot, path
contents = {
    path(number, f"f{number % 5}", f"t{number % 4}", 500): Content(20 + number % 7, 65_800) for number in range(100_000)
}
root = SyntheticRoot(contents, seconds=float(sys.argv[1]))
with tempfile.TemporaryDirectory() as directory:
    checkpoint = Checkpoint(Path(directory) / "x.partial", "made")
    began, used = time.monotonic(), time.process_time()
    report = inspect_root(root, SamplingOptions(), checkpoint, lambda *_: None)
    seconds, cpu_seconds = time.monotonic() - began, time.process_time() - used
    checkpoint.remove()
# Not getrusage: at exec that figure keeps the peak of the process that forked this one.
peak_kib = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
print(json.dumps({
    "seconds": seconds, "cpu_seconds": cpu_seconds, "mib": peak_kib / 1024,
    "files": report.files, "blocks": report.total("blocks").value,
    "truth": sum(content.blocks for content in contents.values()),
}))
"""


def large_root(request_seconds: float) -> dict[str, float]:
    """Return the time and memory that a process takes to inspect 100,000 files, each request lasting so long."""
    command = [sys.executable, "-c", LARGE, str(request_seconds)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True, timeout=HANG_SECONDS)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


@pytest.mark.thorough
def test_a_hundred_thousand_files_take_500_mib_at_most() -> None:
    figures = large_root(request_seconds=0.0)
    assert figures["files"] == 100_000
    assert figures["mib"] < 500
    assert figures["blocks"] == pytest.approx(figures["truth"], rel=0.01)


@pytest.mark.bench
def test_a_hundred_thousand_files_take_two_minutes_at_most_where_a_request_takes_20_ms() -> None:
    figures = large_root(request_seconds=0.02)
    assert figures["seconds"] < 120
    assert figures["cpu_seconds"] < 60
