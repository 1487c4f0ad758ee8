"""Which cache the program looks after: the one in hbase-site.xml, or the one of the launch where that is of no use."""

import pytest

from tests.bootstrap_actions.before_regionserver import PROPERTIES, Volume, hbase_site

# Shorter than any that HBase 2.6.1 to 2.6.4 can restore: the guard acts where it looks.
DAMAGED_INDEX = b"V2UF" + bytes(16)

# Sizes that no disk here has: what is needed is told in the refusal. 2,000 MiB of index belong to 200,000,000 of cache.
AT_LAUNCH = ("--cache-mib=200000000", "--index-mib=2000")
NEEDED_AT_LAUNCH = "200004000 MiB needed"
SIZES = [
    ("200000000", NEEDED_AT_LAUNCH),
    ("100000000", "100002000 MiB needed"),
    ("100000000.0", "100002000 MiB needed"),
    ("\n  250e6\n  ", "250005000 MiB needed"),
    ("268435456", "268440826 MiB needed"),
    ("100000001", "100002003 MiB needed"),  # part of a MiB of index is a whole one, and there are two
]


@pytest.mark.parametrize(("size", "needed"), SIZES)
def test_size_in_hbase_site_wins_and_the_index_grows_with_it(volume: Volume, size: str, needed: str) -> None:
    volume.configure(size=size)
    answer = volume.start(*AT_LAUNCH)
    assert answer.returncode == 1
    assert needed in answer.stderr
    assert "of the launch: " not in answer.stderr


@pytest.mark.parametrize(
    ("size", "why"),
    [
        (None, "is missing"),
        ("", "cannot be used: could not convert string to float: ''"),
        ("8 GiB", "cannot be used: could not convert string to float: '8 GiB'"),
        ("${a.size}", "cannot be used: could not convert string to float"),
        ("0.4", "cannot be used: '0.4' is not a number of MiB from 1 to 268435456"),
        ("-1", "cannot be used: '-1' is not"),
        ("nan", "cannot be used: 'nan' is not"),
        ("1e308", "cannot be used: '1e308' is not"),
    ],
)
def test_size_of_no_use_falls_back_to_the_launch(volume: Volume, size: str | None, why: str) -> None:
    volume.configure(size=size)
    answer = volume.start(*AT_LAUNCH)
    assert f"'hbase.bucketcache.size' in {volume.site} {why}" in answer.stderr
    assert "Using the value of the launch: 200000000\n" in answer.stderr
    assert NEEDED_AT_LAUNCH in answer.stderr


def created_paths(volume: Volume) -> set[str]:
    """The directories that a start has made; that of the index was there."""
    return {path.name for path in volume.site.parent.iterdir() if path.is_dir()} - {volume.index.parent.name}


@pytest.mark.parametrize(
    ("ioengine", "directories"),
    [
        ("file:{0}/a/1", {"a"}),
        ("files:{0}/a/1,{0}/b/2", {"a", "b"}),
        ("file:{0}/a/1,{0}/b/2", {"a", "b"}),
        ("files:{0}/a/1,", {"a"}),
        ("files:{0}/a:b/1", {"a:b"}),
        ("files:{0}/a/../b/1", {"b"}),
    ],
)
def test_cache_files_in_hbase_site_win(volume: Volume, ioengine: str, directories: set[str]) -> None:
    volume.configure(ioengine=ioengine.format(volume.site.parent))
    answer = volume.start()
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert created_paths(volume) == directories


@pytest.mark.parametrize(
    ("ioengine", "why"),
    [
        ("mmap:{0}/a/1", "is neither file:PATH nor files:PATH,PATH"),
        ("heap", "'heap' is neither file:PATH nor"),
        ("{0}/a/1", "is neither file:PATH nor"),
        ("files:", "'' is not a full path"),
        ("files:{0}/a/1,,{0}/b/2", "'' is not a full path"),
        ("files:{0}/a/1, {0}/b/2", "is not a full path"),
        ("file:a/1", "'a/1' is not a full path"),
        ("file:{0}/${{user.name}}/1", "/${{user.name}}/1' is not a full path"),
    ],
)
def test_ioengine_of_no_use_falls_back_to_the_launch(volume: Volume, ioengine: str, why: str) -> None:
    volume.configure(ioengine=ioengine.format(volume.site.parent))
    answer = volume.start()
    assert answer.returncode == 0
    assert f"'hbase.bucketcache.ioengine' in {volume.site} cannot be used: " in answer.stderr
    assert why.format() in answer.stderr
    assert f"Using the value of the launch: file:{volume.cache}\n" in answer.stderr
    assert created_paths(volume) == {"bucketcache"}


@pytest.mark.parametrize("ioengine", [None, "", "offheap"])
def test_cache_that_uses_no_disk_needs_nothing(volume: Volume, ioengine: str | None) -> None:
    volume.configure(ioengine=ioengine)
    volume.index.write_bytes(DAMAGED_INDEX)
    answer = volume.start(*AT_LAUNCH, f"--volume={volume.index.parent}")  # neither room nor a mount
    assert answer.returncode == 0
    assert "the BucketCache uses no disk ('hbase.bucketcache.ioengine' in" in answer.stderr
    assert created_paths(volume) == set()
    assert volume.beside_index() == ["index"]


def test_index_in_hbase_site_wins(volume: Volume) -> None:
    volume.index.write_bytes(DAMAGED_INDEX)
    moved = volume.site.parent / "moved" / "index"
    moved.parent.mkdir(mode=0o777)
    moved.write_bytes(DAMAGED_INDEX)
    volume.configure(index=str(moved))
    answer = volume.start()
    assert answer.returncode == 0
    assert f"moved {moved} to {moved}.damaged-" in answer.stderr
    assert moved.parent.stat().st_mode & 0o7777 == 0o750
    assert volume.beside_index() == ["index"]


@pytest.mark.parametrize(
    ("index_path", "why"),
    [(None, "is missing"), ("", "cannot be used: ''"), ("index", "cannot be used: 'index' is not")],
)
def test_index_path_of_no_use_falls_back_to_the_launch(volume: Volume, index_path: str | None, why: str) -> None:
    volume.index.write_bytes(DAMAGED_INDEX)
    volume.configure(index=index_path)
    answer = volume.start()
    assert answer.returncode == 0
    assert f"'hbase.bucketcache.persistent.path' in {volume.site} {why}" in answer.stderr
    assert f"Using the value of the launch: {volume.index}\n" in answer.stderr
    assert f"moved {volume.index} to" in answer.stderr


# Each would say 100,000,000 MiB and another directory if it could be read.
SITE = hbase_site({PROPERTIES["size"]: "100000000", PROPERTIES["ioengine"]: "file:/nowhere/a/1"})
UNREADABLE = {
    "missing": (None, "No such file or directory"),
    "empty": ("", "no element found"),
    "cut short": (SITE[:-20], "unclosed token"),
    "unknown encoding": (SITE.replace("?>", " encoding='x-none'?>"), "unknown encoding"),
    "external entity": (
        SITE.replace("<configuration>", '<!DOCTYPE c [<!ENTITY size SYSTEM "size">]><configuration>').replace(
            "100000000", "&size;"
        ),
        "undefined entity &size;",
    ),
}


@pytest.mark.parametrize(("text", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_without_a_readable_hbase_site_the_launch_counts(volume: Volume, text: str | None, why: str) -> None:
    (volume.site.parent / "size").write_text("100000000")
    volume.site.unlink()
    if text is not None:
        volume.site.write_text(text)
    answer = volume.start(*AT_LAUNCH)
    assert f"{volume.site} cannot be read: " in answer.stderr
    assert why in answer.stderr
    assert "Using the values of the launch: {'hbase.bucketcache.size': '200000000'" in answer.stderr
    assert NEEDED_AT_LAUNCH in answer.stderr
    assert created_paths(volume) == {"bucketcache"}


def test_names_are_trimmed_and_the_last_counts_as_in_hadoop(volume: Volume) -> None:
    twice = {PROPERTIES["size"]: "100000000"}, {f"\n  {PROPERTIES['size']}\n": "150000000"}
    volume.configure(size=None)
    both = "".join(hbase_site(size).partition("<configuration>")[2].partition("</configuration>")[0] for size in twice)
    volume.site.write_text(volume.site.read_text().replace("</configuration>", f"{both}</configuration>"))
    assert "150003000 MiB needed" in volume.start(*AT_LAUNCH).stderr
