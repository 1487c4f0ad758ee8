"""Checks of the core nodes: units, mounts, the JVM, the settings that the RegionServer has read, its cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from changes.equivalence import is_equivalent
from configurations.layout import GC_LOG
from configurations.node_files import exported, region_server_flags
from configurations.properties import CATALOGUE
from emr.classification import flattened
from operations.verification.check import Check, CheckResult, Facts, Observed
from sizing.units import GIB, MIB

__all__ = ["OF_NODES", "SITES"]

VOLUME_FRACTION: Final = 0.02  # judgement: what a file system takes of its volume for itself
CACHE_FRACTION: Final = 0.02  # a cache loses the end of its last bucket
FEWEST_PYTHON: Final = (3, 9)
SITES: Final = ("core-site", "hbase-site")
"""The files that a RegionServer reads, in that order: what the last one says stands."""
EMR_CACHE_BYTES: Final = 8 * GIB  # EMR Release Guide, emr-hbase-s3: the default of hbase.bucketcache.size
EMR_PART_GIB: Final = (4.0, 6.0)
ALLOCATOR: Final = "org.apache.hadoop.hbase.io.hfile.bucket.BucketAllocator"
DROP_IN: Final = "10-warmbase.conf"
DAEMON: Final = "hbase-daemon.sh"


def _of_units(seen: Observed) -> Iterator[CheckResult]:
    """Yield what systemd was told."""
    server, data = "hbase-regionserver.service", "hadoop-hdfs-datanode.service"
    yield from Check(
        "drop-in of the RegionServer",
        "The systemd unit is called `hbase-regionserver.service`",
        DROP_IN,
        "correct the unit's name in bootstrap-actions/guard-regionserver.sh",
    ).results_by_node(seen.nodes, _in_unit(server, "DropInPaths", DROP_IN))
    yield from Check(
        "how the RegionServer is stopped",
        "EMR's unit stops a RegionServer by `hbase-daemon.sh`",
        DAEMON,
        "set TimeoutStopSec alone: HBASE_STOP_TIMEOUT does not act",
    ).results_by_node(seen.nodes, _in_unit(server, "ExecStop", DAEMON))
    yield from Check(
        "drop-in of the DataNode",
        "The systemd unit of a DataNode is called",
        DROP_IN,
        "correct the unit's name in bootstrap-actions/mount-volumes.sh",
    ).results_by_node(seen.nodes, _in_unit(data, "DropInPaths", DROP_IN))


def _of_actions(seen: Observed) -> Iterator[CheckResult]:
    """Yield what bootstrap actions found, and left."""
    yield from Check(
        "the node's Python",
        "Python 3.9 is `/usr/bin/python3`",
        "3.9 or later",
        "say which in bootstrap-actions/programs",
    ).results_by_node(
        seen.nodes, lambda facts: (tuple(map(int, facts["python"].split("."))) >= FEWEST_PYTHON, facts["python"])
    )
    yield from Check(
        "bootstrap actions",
        "Java 21 is on the node when bootstrap actions run",
        "each ended with done",
        "read /var/log/bootstrap-actions on that node",
    ).results_by_node(seen.nodes, _actions_completed)


def _of_java(seen: Observed) -> Iterator[CheckResult]:
    """The JVM of the RegionServer, whose it is, and its flags."""
    variables = exported(seen.launch.settings.effective("core"))
    home = Path(variables.get("JAVA_HOME", "")).name
    if home:
        yield from Check(
            "Java", "Java 21 lies at `/usr/lib/jvm/jre-21`", home, "correct the path in configurations/jvm.py"
        ).results_by_node(
            seen.nodes, lambda facts: (home in (facts["java"] or ()), ", ".join(facts["java"] or ("none",)))
        )
    yield from Check(
        "user of HBase",
        "HBase runs as user `hbase`",
        "hbase",
        "correct --owner in bootstrap-actions/guard-regionserver.sh",
    ).results_by_node(
        seen.nodes, lambda facts: _of_process(facts, lambda process: (process["user"] == "hbase", process["user"]))
    )
    flags = [flag for flag in region_server_flags(variables) if flag.startswith("-X")]
    yield from Check(
        "flags of the JVM",
        "The RegionServer runs with the collector flags and the heap that were rendered",
        " ".join(flags),
        "look where EMR takes HBASE_REGIONSERVER_OPTS from: hbase-env.sh on that node",
    ).results_by_node(seen.nodes, lambda facts: _of_process(facts, lambda process: _flags(process["arguments"], flags)))


def _of_volumes(seen: Observed) -> Iterator[CheckResult]:
    """Those that are one alone, each at its path."""
    for volume in seen.launch.plan.core.volumes:
        if volume.purpose in {"cache", "system"} and volume.count == 1:
            path = f"/warmbase/{volume.purpose}"
            yield from Check(
                f"volume of {path}",
                "EMR formats and mounts data volumes before bootstrap actions run",
                f"{volume.size_gib} GiB",
                "lsblk on that node; volumes are known by their size",
            ).results_by_node(seen.nodes, _mounted(path, volume.size_gib))


def _in_unit(unit: str, key: str, wanted: str) -> Callable[[Facts], tuple[bool, str]]:
    def check(facts: Facts) -> tuple[bool, str]:
        found = (facts["units"].get(unit) or {}).get(key, "")
        return wanted in found, found[:200] or "none"

    return check


def _actions_completed(facts: Facts) -> tuple[bool, str]:
    actions: Mapping[str, str] = facts["actions"]
    said = ", ".join(f"{name} {state or 'empty'}" for name, state in actions.items())
    return bool(actions) and all(state == "done" for state in actions.values()), said or "none ran"


def _of_process(facts: Facts, check: Callable[[Mapping[str, Any]], tuple[bool, str]]) -> tuple[bool, str]:
    process = facts["region_server"]
    return check(process) if process else (False, "no RegionServer is running")


def _flags(arguments: list[str], wanted: list[str]) -> tuple[bool, str]:
    """Each is there; of heaps the last one counts."""
    missing = [flag for flag in wanted if flag not in arguments]
    heaps = [argument for argument in arguments if argument.startswith("-Xmx")]
    heap = [each for each in wanted if each.startswith("-Xmx")]
    if heap and heaps[-1:] != heap:
        return False, f"heaps: {' '.join(heaps) or 'none'}"
    return not missing, f"missing: {' '.join(missing)}" if missing else f"all; {' '.join(heaps)}"


def _mounted(path: str, size_gib: int) -> Callable[[Facts], tuple[bool, str]]:
    def check(facts: Facts) -> tuple[bool, str]:
        found = facts["mounts"].get(path)
        if not found:
            return False, "not mounted"
        gib = int(found["size"]) / GIB
        return abs(gib - size_gib) <= max(
            1.0, VOLUME_FRACTION * size_gib
        ), f"{gib:,.1f} GiB, {found['fstype']}, {found['source']}"

    return check


def _of_caches(seen: Observed) -> Iterator[CheckResult]:
    if not seen.launch.plan.mode.has_bucket_cache:
        return
    size_mib = seen.launch.plan.cache.size_mib

    def size(facts: Facts) -> tuple[bool, str]:
        figures = facts["figures"]
        if not figures:
            return False, "the RegionServer does not say"
        has = (figures["l2CacheSize"] + figures["l2CacheFreeSize"]) / MIB
        return abs(has - size_mib) <= CACHE_FRACTION * size_mib, f"{has:,.0f} MiB"

    yield from Check(
        "size of the cache", "", f"{size_mib:,} MiB", "read the RegionServer's log for BucketCache"
    ).results_by_node(seen.nodes, size)


def _of_plain_reads(seen: Observed) -> Iterator[CheckResult]:
    """Without a cache of ours: what EMR keeps by itself, and how nodes read HDFS."""
    mode = seen.launch.plan.mode
    if mode.keeps_data_in_s3 and not mode.has_bucket_cache:
        yield from Check(
            "EMR's own cache",
            "Without settings of ours for it, EMR keeps its default cache of 8 GiB",
            "below 8 GiB",
            "nothing breaks: say its true size in docs/unconfirmed.md",
        ).results_by_node(
            seen.nodes, _figure("l2CacheSize", lambda size: (size < EMR_CACHE_BYTES, f"{size / GIB:,.1f} GiB in use"))
        )
    if not mode.keeps_data_in_s3:
        yield from Check(
            "short-circuit reads",
            "In mode `hdfs` DataNode and RegionServer may share a socket",
            "the RegionServer has read past its DataNode",
            "read something first; then look who may write to /var/lib/hadoop-hdfs",
        ).results_by_node(
            seen.nodes, _figure("shortCircuitBytesRead", lambda read: (read > 0, f"{read / MIB:,.0f} MiB read so"))
        )


def _figure(name: str, judged: Callable[[float], tuple[bool, str]]) -> Callable[[Facts], tuple[bool, str]]:
    def check(facts: Facts) -> tuple[bool, str]:
        figures = facts["figures"]
        return judged(figures[name]) if figures and name in figures else (False, "the RegionServer does not say")

    return check


def _of_logs(seen: Observed) -> Iterator[CheckResult]:
    """Return whether the RegionServer may write its logs, and heeds what was said of them."""
    core = seen.launch.settings.effective("core")
    if any(GC_LOG in flag for flag in region_server_flags(exported(core))):
        yield from Check(
            "log of the collector",
            "`/var/log/hbase` is there, and `hbase` may write to it",
            f"{GC_LOG} is written",
            "correct GC_LOG in configurations/layout.py",
        ).results_by_node(seen.nodes, lambda facts: _written(facts["logs"]["collector_bytes"]))
    if any(path == "hbase-log4j2" and value == ALLOCATOR for path, _, value in flattened(core)):
        yield from Check(
            "loggers",
            "A logger named in `hbase-log4j2` is added",
            "the RegionServer's log has DEBUG lines of BucketAllocator",
            "look at /etc/hbase/conf/log4j2.properties on that node; correct configurations/properties",
        ).results_by_node(seen.nodes, lambda facts: _probe_text(found=facts["logs"]["allocator_debug"]))


def _probe_text(*, found: bool) -> tuple[bool, str]:
    return found, "there are" if found else "there are none"


def _written(size: int | None) -> tuple[bool, str]:
    return bool(size), "there is none" if size is None else f"{size:,} B"


def _of_disks(seen: Observed) -> Iterator[CheckResult]:
    """Yield what EMR and HDFS made of the volumes."""
    yield from Check(
        "EMR's part of a volume",
        "EMR keeps about 5 GiB of the first data volume",
        "one partition of 4 to 6 GiB beside one that holds the rest",
        "nothing breaks: bootstrap-actions/disks.sh takes the largest; correct what is said of it there",
    ).results_by_node(seen.nodes, _emr_part)
    if any(volume.purpose == "system" for volume in seen.launch.plan.core.volumes):
        yield from Check(
            "directory of the DataNode",
            "A DataNode makes its own directory below `/warmbase/system`",
            "hdfs",
            "correct the mode of /warmbase/system in bootstrap-actions/mount-volumes.sh",
        ).results_by_node(seen.nodes, lambda facts: _owned(facts["owners"].get("/warmbase/system/hdfs")))


def _emr_part(facts: Facts) -> tuple[bool, str]:
    devices = facts["devices"]
    if devices is None:
        return False, "lsblk does not say"
    small = [
        device
        for device in devices
        if device["type"] == "part"
        and EMR_PART_GIB[0] <= int(device["size"]) / GIB <= EMR_PART_GIB[1]
        and sum(1 for other in devices if other["pkname"] == device["pkname"] and other["type"] == "part") > 1
    ]
    said = ", ".join(f"{each['name']} {int(each['size']) / GIB:.1f} GiB {each['mountpoint'] or ''}" for each in small)
    return len(small) == 1, said.strip() or "none"


def _owned(found: str | None) -> tuple[bool, str]:
    return found is not None and found.startswith("hdfs "), found or "there is none"


def _of_settings(seen: Observed) -> Iterator[CheckResult]:
    """Yield what the RegionServer itself has read, against what was rendered."""
    core = seen.launch.settings.effective("core")
    account = seen.aws.account
    wanted = {
        key: (file, seen.launch.environment.in_account(value, account))
        for file, key, value in sorted(flattened(core))
        if file in SITES
    }
    files = sorted({file for file, _ in wanted.values()})

    def same(facts: Facts) -> tuple[bool, str]:
        has = facts["configuration"]
        if has is None:
            return False, "the RegionServer does not say"
        others = [
            f"{key}={has.get(key)}"
            for key, (file, value) in wanted.items()
            if has.get(key) is None or not is_equivalent(CATALOGUE.get((file, key)), value, str(has[key]))
        ]
        return not others, "; ".join(others[:3]) if others else f"all {len(wanted)}"

    yield from Check(
        "settings that the RegionServer has read",
        "HBase reads S3A's settings from `core-site` as well" if "core-site" in files else "",
        f"{len(wanted)} properties of {' and '.join(files)} as rendered",
        "warmbase diff --against live; look at /etc/hbase/conf/hbase-site.xml on that node",
    ).results_by_node(seen.nodes, same)


OF_NODES = (
    _of_units,
    _of_actions,
    _of_java,
    _of_volumes,
    _of_disks,
    _of_logs,
    _of_settings,
    _of_caches,
    _of_plain_reads,
)
"""Every check, in the order of the report."""
