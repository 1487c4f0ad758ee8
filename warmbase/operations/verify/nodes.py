"""Checks of the core nodes: bootstrap actions, volumes and disks of every cluster, and the RegionServer on each node.

The RegionServer is checked for its JVM, its logs, the properties in force, and its cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from warmbase.changes.change import is_equivalent
from warmbase.configurations.node_files import GC_LOG, cache_mounts, exported, region_server_flags
from warmbase.configurations.properties import CATALOGUE
from warmbase.emr.cluster_spec import flattened
from warmbase.ground.units import GIB, MIB
from warmbase.operations.verify.check import Check, CheckResult, Facts, HBaseContext, Nodes, VerificationContext

VOLUME_FRACTION: Final = 0.02  # judgement: the share of a volume that the file system uses for itself
OLDEST_PYTHON: Final = (3, 9)
EMR_PART_GIB: Final = (4.0, 6.0)
DROP_IN: Final = "10-warmbase.conf"


def in_unit(unit: str, key: str, wanted: str) -> Callable[[Facts], tuple[bool, str]]:
    """Return the verdict on a property of a systemd unit."""

    def check(facts: Facts) -> tuple[bool, str]:
        value = (facts["units"].get(unit) or {}).get(key, "")
        return wanted in value, value[:200] or f"no {key}"

    return check


def active_timer(timer: str) -> Callable[[Facts], tuple[bool, str]]:
    """Return the verdict on a timer of systemd, which should be active."""

    def check(facts: Facts) -> tuple[bool, str]:
        state = (facts["units"].get(timer) or {}).get("ActiveState", "")
        return state == "active", f"the timer is {state or 'not installed'}"

    return check


def completed_actions(nodes: Nodes, row: str) -> Iterator[CheckResult]:
    """Check that every bootstrap action is complete, which confirms a row of docs/unconfirmed.md."""

    def verdict(facts: Facts) -> tuple[bool, str]:
        states: Mapping[str, str] = facts["actions"]
        text = ", ".join(f"{name} {state or 'empty'}" for name, state in states.items())
        return bool(states) and set(states.values()) == {"done"}, text or "no bootstrap action ran"

    yield from Check(
        "bootstrap actions",
        row,
        "every bootstrap action is done",
        "read /var/log/bootstrap-actions on that node",
    ).results_by_node(nodes, verdict)


def node_checks(context: VerificationContext) -> Iterator[CheckResult]:
    """Check the Python, the volumes and the disks of each core node."""
    yield from Check(
        "Python of the node",
        "Python 3.9 is `/usr/bin/python3`",
        "3.9 or later",
        "adapt the programs in bootstrap-actions/programs to this version",
    ).results_by_node(
        context.nodes, lambda facts: (tuple(map(int, facts["python"].split("."))) >= OLDEST_PYTHON, facts["python"])
    )
    for volume in context.core.volumes:
        if volume.purpose == "data":
            continue  # only data volumes have no path of their own
        for path in cache_mounts(context.core) if volume.purpose == "cache" else ("/warmbase/system",):
            yield from Check(
                f"volume at {path}",
                "EMR formats and mounts data volumes before bootstrap actions run",
                f"{volume.size_gib} GiB",
                "run lsblk on that node; the bootstrap action recognises a volume by its size",
            ).results_by_node(context.nodes, partial(_mounted, path, volume.size_gib))
    yield from Check(
        "systemd drop-in of the DataNode",
        "The systemd unit of a DataNode is named",
        DROP_IN,
        "correct the unit's name in bootstrap-actions/mount-volumes.sh",
    ).results_by_node(context.nodes, in_unit("hadoop-hdfs-datanode.service", "DropInPaths", DROP_IN))
    yield from Check(
        "EMR's partition",
        "EMR uses about 5 GiB of the first data volume",
        "one partition of 4 to 6 GiB, and another one with the rest of the volume",
        "no harm: bootstrap-actions/disks.sh takes the largest partition; correct its comment",
    ).results_by_node(context.nodes, _emr_partition)
    if any(volume.purpose == "system" for volume in context.core.volumes):

        def owner(facts: Facts) -> tuple[bool, str]:
            name = facts["owners"].get("/warmbase/system/hdfs") or ""
            return name.startswith("hdfs "), name or "the directory does not exist"

        yield from Check(
            "owner of the DataNode's directory",
            "A DataNode creates its own directory in `/warmbase/system`",
            "hdfs",
            "correct the mode of /warmbase/system in bootstrap-actions/mount-volumes.sh",
        ).results_by_node(context.nodes, owner)


def _mounted(path: str, size_gib: int, facts: Facts) -> tuple[bool, str]:
    mount = facts["mounts"].get(path)
    if not mount:
        return False, "not mounted"
    gib = int(mount["size"]) / GIB
    is_size = abs(gib - size_gib) <= max(1.0, VOLUME_FRACTION * size_gib)
    return is_size, f"{gib:,.1f} GiB, {mount['fstype']}, {mount['source']}"


def _emr_partition(facts: Facts) -> tuple[bool, str]:
    if facts["devices"] is None:
        return False, "no answer from lsblk"
    partitions = [device for device in facts["devices"] if device["type"] == "part"]
    counts = Counter(partition["pkname"] for partition in partitions)
    small = [
        f"{partition['name']} {gib:.1f} GiB {partition['mountpoint'] or ''}"
        for partition in partitions
        if EMR_PART_GIB[0] <= (gib := int(partition["size"]) / GIB) <= EMR_PART_GIB[1]
        and counts[partition["pkname"]] > 1
    ]
    return len(small) == 1, ", ".join(small).strip() or "no small partition"


SITES: Final = ("core-site", "hbase-site")
"""The files that a RegionServer reads, in this order: a later file overrides an earlier one."""
READ_ONLY: Final = "hbase.global.readonly.enabled"
COUNT_FRACTION: Final = 0.02  # judgement: blocks are cached and evicted between the two readings
CACHE_FRACTION: Final = 0.02  # the cache does not use a part of a bucket at its end
EMR_CACHE_BYTES: Final = 8 * GIB  # EMR Release Guide, emr-hbase-s3: the default of hbase.bucketcache.size
ALLOCATOR: Final = "org.apache.hadoop.hbase.io.hfile.bucket.BucketAllocator"


def region_server_checks(context: HBaseContext) -> Iterator[CheckResult]:
    """Check the JVM, the logs, the properties and the cache of the RegionServer on each core node."""
    core, nodes, mode = context.launch.settings.effective("core"), context.nodes, context.launch.plan.mode
    variables = exported(core)
    home = Path(variables.get("JAVA_HOME", "")).name
    if home:
        yield from Check(
            "Java",
            "Java 21 is installed at `/usr/lib/jvm/jre-21`",
            home,
            "correct the path in configurations/properties/java.py",
        ).results_by_node(nodes, lambda facts: (home in (facts["java"] or ()), ", ".join(facts["java"] or ["no Java"])))
    yield from Check(
        "user of HBase",
        "HBase runs as user `hbase`",
        "hbase",
        "correct --owner in bootstrap-actions/guard-regionserver.sh",
    ).results_by_node(nodes, _process_verdict(lambda process: (process["user"] == "hbase", process["user"])))
    flags = [flag for flag in region_server_flags(variables) if flag.startswith("-X")]
    yield from Check(
        "JVM flags",
        "The RegionServer runs with the collector flags and the heap that were rendered",
        " ".join(flags),
        "check where hbase-env.sh on that node sets HBASE_REGIONSERVER_OPTS",
    ).results_by_node(nodes, _process_verdict(lambda process: _flags(process["arguments"], flags)))

    if any(GC_LOG in flag for flag in region_server_flags(variables)):

        def has_text(facts: Facts) -> tuple[bool, str]:
            size = facts["logs"]["collector_bytes"]
            return bool(size), "the file does not exist" if size is None else f"{size:,} B"

        yield from Check(
            "garbage collector log",
            "`/var/log/hbase` exists, and `hbase` can write to it",
            f"{GC_LOG} is not empty",
            "correct GC_LOG in configurations/node_files.py",
        ).results_by_node(nodes, has_text)
    if any(path == "hbase-log4j2" and value == ALLOCATOR for path, _, value in flattened(core)):

        def has_lines(facts: Facts) -> tuple[bool, str]:
            found = facts["logs"]["allocator_debug"]
            return found, "the log has such lines" if found else "the log has no such line"

        yield from Check(
            "log levels",
            "A logger named in `hbase-log4j2` is added",
            "the log of the RegionServer has DEBUG lines of BucketAllocator",
            "read /etc/hbase/conf/log4j2.properties on that node, and correct configurations/properties",
        ).results_by_node(nodes, has_lines)

    yield from _setting_checks(context)
    yield from replica_checks(context)
    if mode.has_bucket_cache:
        size_mib = context.launch.plan.cache.size_mib

        def size(facts: Facts) -> tuple[bool, str]:
            figures = facts["figures"]
            if not figures:
                return False, "no answer from the RegionServer"
            has = (figures["l2CacheSize"] + figures["l2CacheFreeSize"]) / MIB
            return abs(has - size_mib) <= CACHE_FRACTION * size_mib, f"{has:,.0f} MiB"

        yield from Check(
            "cache size", "", f"{size_mib:,} MiB", "search the log of the RegionServer for BucketCache"
        ).results_by_node(nodes, size)
        yield from index_checks(context)
    elif mode.keeps_data_in_s3:
        yield from Check(
            "EMR's default cache",
            "EMR uses its default cache of 8 GiB where we configure none",
            "below 8 GiB",
            "no harm: correct the size in docs/unconfirmed.md",
        ).results_by_node(
            nodes, _figure("l2CacheSize", lambda used: (used < EMR_CACHE_BYTES, f"{used / GIB:,.1f} GiB used"))
        )
    if not mode.keeps_data_in_s3:
        yield from Check(
            "short-circuit reads",
            "In mode `hdfs`, the DataNode and the RegionServer can share a socket",
            "the RegionServer has read blocks without its DataNode",
            "read a table first; then check the permissions of /var/lib/hadoop-hdfs",
        ).results_by_node(
            nodes, _figure("shortCircuitBytesRead", lambda read: (read > 0, f"{read / MIB:,.0f} MiB read"))
        )


def _process_verdict(verdict: Callable[[Mapping[str, Any]], tuple[bool, str]]) -> Callable[[Facts], tuple[bool, str]]:
    def check(facts: Facts) -> tuple[bool, str]:
        process = facts["region_server"]
        return verdict(process) if process else (False, "no RegionServer is running")

    return check


def _flags(arguments: list[str], wanted: list[str]) -> tuple[bool, str]:
    """Return whether every flag is present; the JVM uses the last -Xmx."""
    missing = [flag for flag in wanted if flag not in arguments]
    heaps = [argument for argument in arguments if argument.startswith("-Xmx")]
    heap = [flag for flag in wanted if flag.startswith("-Xmx")]
    if heap and heaps[-1:] != heap:
        return False, f"heap flags: {' '.join(heaps) or 'none'}"
    return not missing, f"missing: {' '.join(missing)}" if missing else f"all flags; {' '.join(heaps)}"


def _setting_checks(context: HBaseContext) -> Iterator[CheckResult]:
    """Compare the properties that the RegionServer has read with those that warmbase rendered."""
    core = context.launch.settings.effective("core")
    account = context.aws.account
    wanted = {
        key: (file, context.launch.environment.in_account(value, account))
        for file, key, value in sorted(flattened(core))
        if file in SITES
    }
    has_core_site = any(file == "core-site" for file, _ in wanted.values())
    parts = {
        "properties in force": (
            "HBase reads S3A's settings from `core-site` as well" if has_core_site else "",
            {*wanted},
        ),
        "region of S3": ("EMR's S3A takes the region from `fs.s3a.endpoint.region`", {"fs.s3a.endpoint.region"}),
        "place of the data": (
            "An instance group may repeat `hbase.emr.storageMode`, `hbase.rootdir`",
            {key for (_, key), entry in CATALOGUE.items() if entry.is_identity},
        ),
        "values that the plan assumes": (
            "A rendered property wins over EMR's own default",
            {key for (_, key), entry in CATALOGUE.items() if entry.needed_by},
        ),
    }
    for name, (row, keys) in parts.items():
        part = {key: value for key, value in wanted.items() if key in keys}
        files = " and ".join(sorted({file for file, _ in part.values()}))
        if part:
            yield from Check(
                name,
                row,
                f"{len(part)} properties of {files} are as rendered",
                "run warmbase diff --against live; read /etc/hbase/conf/hbase-site.xml on that node",
            ).results_by_node(context.nodes, partial(_in_force, part))


def _in_force(part: Mapping[str, tuple[str, str]], facts: Facts) -> tuple[bool, str]:
    """Compare these properties, each with its file and its value, with what a RegionServer has."""
    has = facts["configuration"]
    if has is None:
        return False, "no answer from the RegionServer"
    differences = [
        f"{key}={has.get(key)}"
        for key, (file, value) in part.items()
        if has.get(key) is None or not is_equivalent(CATALOGUE.get((file, key)), value, str(has[key]))
    ]
    return not differences, "; ".join(differences[:3]) if differences else f"all {len(part)}"


def replica_checks(context: HBaseContext) -> Iterator[CheckResult]:
    """Check that HBase is read-only on each node of a replica, by the property on which the watch relies."""
    if context.launch.environment.clusters[context.launch.plan.cluster].role != "replica":
        return

    def is_read_only(facts: Facts) -> tuple[bool, str]:
        value = (facts["configuration"] or {}).get(READ_ONLY)
        return value == "true", f"{READ_ONLY}={value}"

    yield from Check(
        "mode of the replica",
        f"On each node of a replica, EMR writes `{READ_ONLY}`",
        f"{READ_ONLY}=true",
        "read /etc/hbase/conf/hbase-site.xml on that node; unless HBase is read-only there, stop it",
    ).results_by_node(context.nodes, is_read_only)


def index_checks(context: HBaseContext) -> Iterator[CheckResult]:
    """Compare the number of blocks in each persisted index with the count of the RegionServer."""
    check = Check(
        "index of the cache",
        "A core node can read the persisted index of its cache",
        "as many blocks as the RegionServer counts",
        "do not use warmbase heal; read the log of the RegionServer, and compare its release with hfile/cache_index.py",
    )
    caches = context.caches
    if isinstance(caches, str):
        yield check.result(caches, good=False)
        return
    counts = {}
    for instance, cache in sorted(caches.items()):
        counted = ((context.nodes[instance] or {}).get("figures") or {}).get("l2CacheCount")
        if counted is not None:
            counts[instance] = (sum(file.blocks for file in cache.files.values()), int(counted))
    differ = {instance: pair for instance, pair in counts.items() if abs(pair[0] - pair[1]) > COUNT_FRACTION * pair[1]}
    # An index from before the last change of its cache may have another count.
    changed = [instance for instance in differ if caches[instance].behind_seconds > 0]
    for instance, (indexed, counted) in sorted(differ.items(), key=lambda entry: entry[0] in changed)[:1]:
        note = ", but the cache has changed since the index was written" if instance in changed else ""
        observed = f"{instance}: {indexed:,} blocks in the index, {counted:,} in the cache{note}"
        yield check.result(observed, good=None if instance in changed else False)
    if not differ:
        observed = f"{sum(indexed for indexed, _ in counts.values()):,} blocks on {len(counts)} nodes"
        yield check.result(observed if counts else "no node answered", good=True if counts else None)


def _figure(name: str, verdict: Callable[[float], tuple[bool, str]]) -> Callable[[Facts], tuple[bool, str]]:
    def check(facts: Facts) -> tuple[bool, str]:
        figures = facts["figures"]
        return verdict(figures[name]) if figures and name in figures else (False, "no answer from the RegionServer")

    return check
