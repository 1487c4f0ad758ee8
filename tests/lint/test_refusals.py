"""Configurations that must never be deployed: lint refuses each file, and accepts the nearest correct one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.lint.examples.file import NOT_PERSISTENT as COLD
from tests.lint.examples.file import SITE, File, Properties
from warmbase.linter.finding import LintFinding, Severity
from warmbase.linter.lint import lint
from warmbase.linter.reader import read_subject

FORCE = "hbase.master.scp.retain.assignment.force"
RETRIES = "hbase.master.scp.retain.assignment.force.retries"
MEMSTORE = "hbase.regionserver.global.memstore.size"
SLOTS = "hbase.bucketcache.bucket.sizes"
ENGINE = "hbase.bucketcache.ioengine"
SYSTEM = "emr-metrics/emr-system-metrics"
NO_JAVA = {"hbase-env/export": {"JAVA_HOME": None, "HBASE_REGIONSERVER_GC_OPTS": None}}


def site(**properties: str | None) -> File:
    """Return a file with these properties in hbase-site, `_` for each point of a key."""
    return File({key.replace("_", "."): value for key, value in properties.items()})


def factors(single: str, multi: str, memory: str) -> File:
    keys = [f"hbase.bucketcache.{name}.factor" for name in ("single", "multi", "memory")]
    return File(dict(zip(keys, (single, multi, memory), strict=True)))


def heap(l1: str, memstore: str, more: Properties | None = None, release: str = "emr-7.12.0") -> File:
    shares = {"hfile.block.cache.size": l1, "hbase.regionserver.global.memstore.size": memstore}
    return File({**shares, **(more or {})}, release=release)


def java(home: str | None, options: str, release: str = "emr-7.12.0") -> File:
    variables = {"JAVA_HOME": home, "HBASE_REGIONSERVER_GC_OPTS": options}
    fixed = {"hbase.regionserver.fixed.heap.enabled": "true" if release >= "emr-7.10.0" else None}
    return File(others={"hbase-env/export": variables, "hbase": fixed}, release=release)


def hadoop(path: str, key: str, value: str | None) -> File:
    return File(others={path: {key: value}})


def copies(number: str | None, nodes: int, settings: Mapping[str, str] | None = None) -> File:
    others = {"hdfs-site": {"dfs.replication": number}, "hbase": settings or {}}
    return File({"emr.wal.workspace": "warmbase"}, others=others, core={"InstanceCount": nodes})


def waiting(least: str | None = None, most: str | None = None, timeout: str | None = None) -> File:
    keys = [f"hbase.master.wait.on.regionservers.{name}" for name in ("mintostart", "maxtostart", "timeout")]
    return File(dict(zip(keys, (least, most, timeout), strict=True)))


GENERATIONAL = '"-XX:+UseZGC -XX:+ZGenerational"'
NINE_GIB = '"$HBASE_REGIONSERVER_OPTS -Xms16g -Xmx16g"'
TWO_FILES = "files:/mnt1/hbase/cache,/mnt2/hbase/cache"

# What is wrong: a file that has it, the rule that refuses it, and files as like to it as can be that are right.
REFUSED: Mapping[str, tuple[File, str, tuple[File, ...]]] = {
    "persistence on a release too old": (
        File(release="emr-7.5.0", others=NO_JAVA), "WB301", (File(release="emr-7.6.0", others=NO_JAVA),),
    ),
    "generational ZGC on Java 17 by default": (
        java(None, GENERATIONAL), "WB401", (java("/usr/lib/jvm/jre-21", GENERATIONAL), java(None, '"-XX:+UseZGC"')),
    ),
    "generational ZGC on Java 17, stated": (
        java("/usr/lib/jvm/java-17-amazon-corretto", GENERATIONAL), "WB401",
        (java("/usr/lib/jvm/java-21-amazon-corretto", GENERATIONAL),),
    ),
    "generational ZGC on Java 8": (
        java("/usr/lib/jvm/java-1.8.0", GENERATIONAL), "WB401", (java("<your-java>", GENERATIONAL),),
    ),
    "an option of the JVM with a blank in quotes": (
        java(None, '"-XX:+UseG1GC -XX:OnError=\'gcore %p\'"'), "WB421",
        (java(None, '"-XX:+UseG1GC -XX:OnError=gcore"'), java(None, '"-XX:+UseG1GC -Da=it\'s"')),
    ),
    "a word among the options of the JVM": (
        java(None, '"-XX:+UseG1GC -XX:OnError=gcore %p"'), "WB421",
        (
            java(None, '"-XX:+UseG1GC --add-opens java.base/java.lang=ALL-UNNAMED"'),
            java(None, '"-XX:+UseG1GC $MORE <your-options> `nproc --all` @/etc/jvm.options -cp /a.jar"'),
        ),
    ),
    "a cache larger than its volume": (
        File(volume={"SizeInGB": 499}), "WB213", (File(volume={"SizeInGB": 600}), File(volume=None)),
    ),
    "half a cache larger than its volume": (
        File({ENGINE: TWO_FILES}, volume={"SizeInGB": 249}, volumes=2), "WB213",
        (File({ENGINE: TWO_FILES}, volume={"SizeInGB": 300}, volumes=2),),
    ),
    "a cache larger than EMR's choice of volumes": (
        File({ENGINE: None}, volume={"SizeInGB": 160}, volumes=4), "WB213",
        (File({ENGINE: None}, volume={"SizeInGB": 200}, volumes=4),),
    ),
    "more IOPS than gp3 has": (
        File(volume={"SizeInGB": 1024, "Iops": 80_001}), "WB705", (File(volume={"SizeInGB": 1024, "Iops": 80_000}),),
    ),
    "a persistent path with a cache in memory": (
        File({ENGINE: "offheap"}), "WB302",
        (File({ENGINE: "file:/mnt1/cache"}), File({ENGINE: "<your-engine>"}), File({ENGINE: None})),
    ),
    "a bucket size that is no multiple of 256": (
        File({SLOTS: "66560,532500"}), "WB202", (File({SLOTS: "66560,532480"}),),
    ),
    "a bucket size of zero": (File({SLOTS: "0,66560"}), "WB202", (File({SLOTS: "256,66560"}),)),
    "bucket sizes smaller than a block": (
        File({SLOTS: "17408,33792"}), "WB203",
        (File({SLOTS: "17408,33792", "hbase.blockcache.minblocksize": "16438"}),),
    ),
    "a cache as a share of heap": (
        site(hbase_bucketcache_size="0.4"), "WB201", (File({"hbase.bucketcache.size": "1", SLOTS: "66560"}),),
    ),
    "a cache in TiB, too small for HBase's own bucket sizes": (
        File({"hbase.bucketcache.size": "1.2", SLOTS: None}), "WB204",
        (File({"hbase.bucketcache.size": "29", SLOTS: None}),),
    ),
    "factors that float32 does not add up": (
        factors("0.15", "0.65", "0.20"), "WB206", (factors("0.25", "0.5", "0.25"), factors("0.2", "0.5", "0.3")),
    ),
    "other factors that float32 does not add up": (
        factors("0.35", "0.45", "0.20"), "WB206",
        (factors("0.35", "0.45", "<your-share>"), factors("0.4", "0.4", "0.2")),
    ),
    "L1 and memstore of 81 percent": (
        heap("0.41", "0.40"), "WB209",
        (
            heap("0.40", "0.40"),
            heap("0.53", "0.28"),  # float32 cuts 0.53 off to 52 percent
            heap("0.59", "0.22"),
            heap("<your-share>", "0.40"),
            heap("0.41", "0.40", {"hfile.block.cache.memory.size": "1g"}),
            heap("0.41", "0.40", {"hbase.regionserver.free.heap.min.memory.size": "2g"}, "emr-7.13.0"),
        ),
    ),
    "L1 and memstore of 81 percent, one by default": (
        File({"hfile.block.cache.size": "0.41", "hbase.regionserver.global.memstore.size": None}), "WB209",
        (File({"hfile.block.cache.size": None, "hbase.regionserver.global.memstore.size": "0.40"}),),
    ),
    "L1 and memstore of 81 percent, one under its old name": (
        File({MEMSTORE: None, "hbase.regionserver.global.memstore.upperLimit": "0.61"}),
        "WB209",
        (File({"hbase.regionserver.global.memstore.upperLimit": "0.61"}),),
    ),
    "a reserve of heap that HBase 2.6.2 does not read": (
        heap("0.41", "0.40", {"hbase.regionserver.free.heap.min.memory.size": "2g"}), "WB209", (),
    ),
    "no L1 and a cache": (
        site(hfile_block_cache_size="0"), "WB208",
        (
            site(hfile_block_cache_size="0.05"),
            File({"hfile.block.cache.size": "0", "hfile.block.cache.memory.size": "1g"}),
        ),
    ),
    "regions that do not wait for a restart": (
        File({RETRIES: "10"}), "WB308",
        (
            File({RETRIES: "11"}),
            File({RETRIES: "10", "hbase.master.scp.retain.assignment.force.wait-interval": "100"}),
        ),
    ),
    "retries by default": (File({RETRIES: None}), "WB307", (File({RETRIES: None, FORCE: "false"}),)),
    "retries as by default": (File({RETRIES: "600"}), "WB307", (File({RETRIES: "14"}),)),
    "retries by default, nothing else said": (
        File({**COLD, FORCE: "true"}), "WB307", (File({**COLD, FORCE: "true", RETRIES: "12"}),),
    ),
    "paths of a cache with colons between": (
        File({ENGINE: "files:/mnt1/cache:/mnt2/cache"}), "WB210",
        (File({ENGINE: "files:/mnt1/cache,/mnt2/cache"}), File({ENGINE: "files:/mnt1/cache"})),
    ),
    "RubiX for Trino": (
        hadoop("trino-connector-hive", "hive.cache.enabled", "true"), "WB612",
        (
            hadoop("trino-connector-hive", "fs.cache.enabled", "true"),
            File(release="emr-7.2.0", others={**NO_JAVA, "trino-connector-hive": {"hive.cache.enabled": "true"}}),
        ),
    ),
    "RubiX for Presto": (
        hadoop("presto-connector-hive", "hive.cache.location", "/mnt/rubix"), "WB612",
        (hadoop("hive-site", "hive.cache.expr.evaluation", "true"),),
    ),
    "a classification with a slip": (
        hadoop("hbase-enw", "x", "y"), "WB112", (hadoop("hbase-policy", "x", "y"), hadoop("hbase-mine", "x", "y")),
    ),
    "a classification in capitals": (hadoop("Hbase-site", "hbase.regionserver.handler.count", "60"), "WB112", ()),
    "a nested classification with a slip": (
        hadoop("hbase-env/exprot", "JAVA_HOME", "/usr/lib/jvm/jre-21"), "WB112",
        (hadoop("hadoop-env/export", "JAVA_HOME", "/usr/lib/jvm/jre-21"),),
    ),
    "an export in nothing": (
        hadoop("export", "JAVA_HOME", "/usr/lib/jvm/jre-21"), "WB112",
        (hadoop("yarn-env/export", "JAVA_HOME", "/usr/lib/jvm/jre-21"),),
    ),
    "Java in hbase-env itself": (
        hadoop("hbase-env", "JAVA_HOME", "/usr/lib/jvm/jre-21"), "WB114",
        (hadoop("hbase-env/export", "JAVA_HOME", "/usr/lib/jvm/jre-21"),),
    ),
    "EMR's storage mode in hbase-site": (
        File({"hbase.emr.storageMode": "s3"}), "WB105", (hadoop("hbase", "hbase.emr.storageMode", "s3"),),
    ),
    "EMR's fixed heap in hbase-site": (
        File({"hbase.regionserver.fixed.heap.enabled": "true"}), "WB105",
        (hadoop("hbase", "hbase.regionserver.fixed.heap.enabled", "true"),),
    ),
    "the workspace of EMR WAL in hbase": (
        hadoop("hbase", "emr.wal.workspace", "orders"), "WB105", (File({"emr.wal.workspace": "orders"}),),
    ),
    "a key of YARN in hbase-site": (
        File({"yarn.nodemanager.resource.memory-mb": "8192"}), "WB105",
        (hadoop("core-site", "yarn.nodemanager.resource.memory-mb", "8192"),),
    ),
    "more RegionServers than there are": (
        waiting(least="7"), "WB316", (waiting(least="6"), waiting(least="<servers>"), waiting(least="1")),
    ),
    "RubiX for Hadoop": (hadoop("core-site", "rubix.cluster.type", "1"), "WB612", ()),
    "a credential in hbase-site": (
        File({"fs.s3a.access.key": "x"}), "WB901", (File({"fs.s3a.encryption.key": "arn:aws:kms:x"}),),
    ),
    "a credential of a bucket in core-site": (
        hadoop("core-site", "fs.s3a.bucket.data.secret.key", "x"), "WB901",
        (hadoop("core-site", "fs.s3a.aws.credentials.provider", "x"),),
    ),
    "a credential of EMRFS": (hadoop("emrfs-site", "fs.s3.awsSecretAccessKey", "x"), "WB901", ()),
    "a credential in an environment": (
        hadoop("hbase-env/export", "AWS_SECRET_ACCESS_KEY", "x"), "WB901",
        (hadoop("hbase-env/export", "AWS_REGION", "eu-west-1"),),
    ),
    "a credential among options": (
        hadoop("hbase-env/export", "HBASE_OPTS", '"-Dx=AKIAIOSFODNN7EXAMPLE"'), "WB901",
        (hadoop("hbase-env/export", "HBASE_OPTS", '"-Dx=AKIA"'),),
    ),
    "a credential as an option of Java": (
        hadoop("hbase-env/export", "HBASE_OPTS", '"-Dfs.s3a.secret.key=x"'), "WB901",
        (hadoop("hbase-env/export", "HBASE_OPTS", '"-Dfs.s3a.encryption.key=x"'),),
    ),
    "two collectors in two variables": (
        hadoop("hbase-env/export", "HBASE_REGIONSERVER_OPTS", NINE_GIB.replace("-Xms", "-XX:+UseG1GC -Xms")), "WB403",
        (hadoop("hbase-env/export", "HBASE_REGIONSERVER_OPTS", NINE_GIB.replace("-Xms", "-XX:+UseZGC -Xms")),),
    ),
    "two collectors in one": (
        java("/usr/lib/jvm/jre-17", '"-XX:+UseG1GC -XX:+UseParallelGC"'), "WB403",
        (java("/usr/lib/jvm/jre-17", '"-XX:-UseG1GC -XX:+UseParallelGC"'),),
    ),
    "an empty emr-system-metrics": (
        File(others={f"{SYSTEM}/disk": None, SYSTEM: {}}), "WB801",
        (File(others={f"{SYSTEM}/disk": None, SYSTEM: {"metrics_collection_interval": "60"}}), File()),
    ),
    "managed scaling": (
        File(cluster={"ManagedScalingPolicy": {"ComputeLimits": {}}}), "WB701",
        (File(cluster={"AutoScalingRole": "x"}),),
    ),
    "3 copies on 2 nodes": (copies("3", 2), "WB601", (copies("3", 3), copies("2", 2), copies("<copies>", 2))),
    "one copy of an active cluster's log": (
        copies("1", 6), "WB602",
        (
            copies("1", 6, {"hbase.emr.readreplica.enabled": "true"}),
            copies("1", 6, {"hbase.emr.wal.enabled": "true"}),
            copies("1", 6, {"hbase.emr.readreplica.enabled": "<true-or-false>"}),
        ),
    ),
    "one copy of an active cluster's log, by EMR's default": (
        copies(None, 3), "WB602", (copies(None, 4), copies("2", 3)),
    ),
}  # fmt: skip
on_every_refusal = pytest.mark.parametrize(("file", "rule", "right"), REFUSED.values(), ids=REFUSED.keys())


def reports(file: File, folder: Path, rule: str) -> list[LintFinding]:
    return [finding for finding in lint(file.subject(folder)).findings if finding.id == rule]


@on_every_refusal
def test_what_must_never_be_deployed_is_an_error(
    file: File, rule: str, right: tuple[File, ...], tmp_path: Path
) -> None:
    refused = reports(file, tmp_path, rule)
    assert [finding.severity for finding in refused] == [Severity.ERROR]
    for near in right:
        assert not reports(near, tmp_path, rule), near


def test_volumes_faster_than_their_instance_are_a_warning(tmp_path: Path) -> None:
    (one,) = reports(File(volume={"Throughput": 299}), tmp_path, "WB702")
    assert one.severity is Severity.WARNING
    (two,) = reports(File(volume={"Throughput": 150}, volumes=2), tmp_path, "WB702")
    assert "300 MiB/s of volumes on r8g.2xlarge, which sustains only 298" in two.message
    assert not reports(File(volume={"Throughput": 149}, volumes=2), tmp_path, "WB702")
    assert not reports(File(volume={"Throughput": 125}, volumes=8), tmp_path, "WB702")  # included, not bought


# The waits of a master at a full restart of six servers that take 1.55 min, with the rules that report them.
WAITS = [
    (waiting(), ["WB312"]),
    (waiting(most="5"), ["WB312"]),
    (waiting(most="5", timeout="60000"), ["WB312"]),
    (waiting(most="5", timeout="150000"), []),
    (waiting(most="5", timeout="<milliseconds>"), []),
    (waiting(timeout="150000"), []),
    (waiting(least="<servers>"), []),
    (waiting(least="3"), []),
    (waiting(least="4"), ["WB317"]),
    (waiting(least="6"), ["WB317"]),
    (waiting(least="7"), ["WB316"]),
]


@pytest.mark.parametrize(("file", "reported"), WAITS)
def test_a_full_restart_waits_for_the_caches_and_not_for_ever(file: File, reported: list[str], tmp_path: Path) -> None:
    findings = lint(file.subject(tmp_path)).findings
    assert [finding.id for finding in findings if finding.id in {"WB312", "WB316", "WB317"}] == reported


# A value of hbase-env/export, with part of the message and of the fix.
WORDS = [
    ('"-Xmx9g -Xms9g"', None, ""),
    ("'-Xmx9g -Xms9g'", None, ""),
    ("-Xmx9g\\ -Xms9g", None, ""),
    ("-Xmx9g", None, ""),
    ("$(nproc --all)", None, ""),
    ('"-Xmx<your heap>m -Xms9g"', None, ""),
    ("-Xmx9g -Xms9g", "has blanks and is not quoted inside the value", 'write \\"-Xmx9g -Xms9g\\"'),
    ('"-Xmx9g" "-Xms9g"', "has blanks and is not quoted inside the value", "quote the whole value"),
    ('-Dx="a b" -Xms9g', "has blanks and is not quoted inside the value", "quote the whole value"),
    ('"-Xmx9g -Xms9g', "has a quote that is never closed", "quote the whole value"),
]


@pytest.mark.parametrize(("value", "says", "fix"), WORDS)
def test_a_variable_is_one_word_of_the_shell(value: str, says: str | None, fix: str, tmp_path: Path) -> None:
    reported = reports(hadoop("hbase-env/export", "HBASE_MASTER_OPTS", value), tmp_path, "WB406")
    assert len(reported) == (says is not None)
    for finding in reported:
        assert (says or "") in finding.message
        assert finding.fix.startswith(fix)


@pytest.mark.parametrize("value", ['"-Xmx16g -Xms16g"', "'-Xmx16g -Xms16g'", "-Xmx16g -Xms16g"])
def test_no_fix_puts_quotes_into_quotes(value: str, tmp_path: Path) -> None:
    (reported,) = reports(hadoop("hbase-env/export", "HBASE_REGIONSERVER_OPTS", value), tmp_path, "WB404")
    assert reported.fix.endswith('"$HBASE_REGIONSERVER_OPTS -Xmx16g -Xms16g"')


EMRFS = {"core-site": {"fs.s3.impl": "com.amazon.ws.emr.hadoop.fs.EmrFileSystem"}}
POLICY = {"fs.s3a.experimental.input.fadvise": None}
CONSISTENT = {"emrfs-site": {"fs.s3.consistent": "true"}}
CONNECTIONS = {"emrfs-site": {"fs.s3.maxConnections": "500"}}
UNMAPPED = {"core-site": {"fs.s3a.emrfs.compatibility.enable": "false"}}
CONNECTORS = [
    (File(POLICY), "WB605", True),
    (File(POLICY, others=EMRFS), "WB605", False),
    (File({**POLICY, "hbase.rootdir": "s3a://bucket/x/"}, others=EMRFS), "WB605", True),
    (File(POLICY, others={"core-site": {"fs.s3.impl": "<your-class>"}}), "WB605", False),
    (File(others=CONSISTENT), "WB611", True),
    (File(others={**CONSISTENT, **EMRFS}), "WB611", False),
    (File(others={"emrfs-site": {"fs.s3.consistent": "false"}}), "WB611", False),
    (File(others={"emrfs-site": {"fs.s3.seekStrategy": "SOLID"}}), "WB611", True),
    (File(others={"emrfs-site": {"fs.s3.seekStrategy": "SOLID"}}, release="emr-7.9.0"), "WB611", False),
    (File(others=CONNECTIONS), "WB611", False),
    (File(others={**CONNECTIONS, **UNMAPPED}), "WB611", True),
    (File(others={**CONNECTIONS, "core-site": {**EMRFS["core-site"], **UNMAPPED["core-site"]}}), "WB611", False),
]


@pytest.mark.parametrize(("file", "rule", "speaks"), CONNECTORS)
def test_a_rule_about_s3a_is_silent_on_emrfs(file: File, rule: str, *, speaks: bool, tmp_path: Path) -> None:
    assert bool(reports(file, tmp_path, rule)) == speaks


CLIENT_LIMIT = "hbase.client.keyvalue.maxsize"
SERVER_LIMIT = "hbase.server.keyvalue.maxsize"
NO_SLOTS = {SLOTS: None}
CELLS = [
    (File({CLIENT_LIMIT: "0"}), "cells of any length are accepted"),
    (File({**NO_SLOTS, SERVER_LIMIT: "750000000"}), "750,000,000 bytes are accepted, but the largest slot has 525,312"),
    (File({SLOTS: "66560,20971520", CLIENT_LIMIT: "20971521"}), "20,971,521 bytes"),
    (File({SLOTS: "66560,20971520", CLIENT_LIMIT: "20971520"}), None),
    (File({SLOTS: "<your sizes>", CLIENT_LIMIT: "20971520"}), None),
    (File({CLIENT_LIMIT: "<your limit>"}), None),
]


@pytest.mark.parametrize(("file", "says"), CELLS)
def test_a_cell_that_no_slot_holds_is_reported(file: File, says: str | None, tmp_path: Path) -> None:
    messages = [finding.message for finding in reports(file, tmp_path, "WB228")]
    assert len(messages) == (says is not None)
    assert all(says is not None and says in message for message in messages)


STORES = [("r5dn.2xlarge", "the largest volume has 279 GiB"), ("r5.2xlarge", "the largest volume has 40 GiB")]


@pytest.mark.parametrize(("instance", "says"), STORES)
def test_an_older_type_has_its_instance_store(instance: str, says: str, tmp_path: Path) -> None:
    file = File(core={"InstanceType": instance}, volume={"SizeInGB": 40, "VolumeType": "gp2"})
    (reported,) = reports(file, tmp_path, "WB213")
    assert says in reported.message


def test_gp2_beside_an_instance_store_need_not_hold_the_cache(tmp_path: Path) -> None:
    file = File(core={"InstanceType": "r5dn.2xlarge"}, volume={"VolumeType": "gp2", "Throughput": None})
    assert reports(file, tmp_path, "WB707")
    assert not reports(replace(file, site={ENGINE: None}), tmp_path, "WB707")


SHORT_CIRCUIT = "dfs.client.read.shortcircuit"
SOCKET = "dfs.domain.socket.path"


def test_short_circuit_reads_without_a_socket_stop_the_client(tmp_path: Path) -> None:
    in_hdfs = {"hbase": {"hbase.emr.storageMode": "hdfs"}}
    root = {"hbase.rootdir": None}
    (reported,) = reports(File(root, others={**in_hdfs, "hdfs-site": {SHORT_CIRCUIT: "true"}}), tmp_path, "WB615")
    assert "HadoopIllegalArgumentException, unless EMR's own hdfs-site sets the path" in reported.message
    settings = {SHORT_CIRCUIT: "true", SOCKET: "/var/run/hdfs/socket"}
    assert not reports(File(root, others={**in_hdfs, "hdfs-site": settings}), tmp_path, "WB615")
    assert len(reports(hadoop("hdfs-site", SHORT_CIRCUIT, "true"), tmp_path, "WB615")) == 2  # two in S3


def test_a_site_of_hbase_alone_does_not_show_the_socket(tmp_path: Path) -> None:
    file = tmp_path / "hbase-site.xml"
    switch = f"<property><name>{SHORT_CIRCUIT}</name><value>true</value></property>"
    file.write_text(f"<configuration>{switch}</configuration>", encoding="utf-8")
    assert lint(read_subject(file, "emr-7.12.0")).of(Severity.WARNING) == ()


@pytest.mark.parametrize("key", ["fs.gs.impl", "fs.AbstractFileSystem.oss.impl", "fs.cosn.impl.disable.cache"])
def test_a_file_system_of_somebody_is_no_slip(key: str, tmp_path: Path) -> None:
    assert not [
        finding for finding in lint(hadoop("core-site", key, "x").subject(tmp_path)).findings if finding.property == key
    ]


def test_a_key_of_hadoop_is_not_called_one_of_hbase(tmp_path: Path) -> None:
    (reported,) = reports(hadoop("hdfs-site", "dfs.support.append", "true"), tmp_path, "WB102")
    assert reported.message.endswith("of an older Hadoop")


# A key as somebody wrote it, and the one that exists.
SLIPS = [
    ("hbase-site", "hbase.bucketcahce.size", "hbase.bucketcache.size"),
    ("hbase-site", "hbase.bucketcache.bucketsizes", "hbase.bucketcache.bucket.sizes"),
    ("hbase-site", "hfile.block.cache.sise", "hfile.block.cache.size"),
    ("hdfs-site", "dfs.replicaton", "dfs.replication"),
    ("hbase-site", "hbase.regionserver.handlers.count", "hbase.regionserver.handler.count"),
]


@pytest.mark.parametrize(("path", "written", "real"), SLIPS)
def test_a_misspelt_key_is_answered_with_the_real_one(path: str, written: str, real: str, tmp_path: Path) -> None:
    file = hadoop(path, written, "1") if path != "hbase-site" else File({written: "1"})
    (slip,) = [finding for finding in lint(file.subject(tmp_path)).findings if finding.property == written]
    assert (slip.id, slip.severity) == ("WB101", Severity.ERROR)
    assert f"did you mean {real}?" in slip.message
    assert real in slip.fix


OF_OTHERS = [
    "phoenix.query.timeoutMs",
    "phoenix.functions.allowUserDefinedFunctions",
    "hbase.mycompany.coprocessor.cache.seconds",
    "com.example.observer.enabled",
]


@pytest.mark.parametrize("key", OF_OTHERS)
def test_a_key_of_phoenix_or_a_coprocessor_is_a_warning(key: str, tmp_path: Path) -> None:
    (unknown,) = [finding for finding in lint(File({key: "1"}).subject(tmp_path)).findings if finding.property == key]
    assert (unknown.id, unknown.severity) == ("WB103", Severity.WARNING)


OF_ANOTHER_VERSION = [
    ("hbase.regionserver.datatiering.enable", "true", "emr-7.12.0", "emr-7.13.0"),
    ("hbase.rs.evictblocksonsplit", "false", "emr-7.12.0", "emr-7.13.0"),
    ("hbase.regionserver.global.memstore.memory.size", "4g", "emr-7.14.0", None),
    ("hbase.bucketcache.percentage.in.combinedcache", "0.9", "emr-7.12.0", None),
    ("hbase.offheapcache.minblocksize", "65536", "emr-7.3.0", None),
]


@pytest.mark.parametrize(("key", "value", "without", "with_it"), OF_ANOTHER_VERSION)
def test_a_key_of_another_version_is_an_error(
    key: str, value: str, without: str, with_it: str | None, tmp_path: Path
) -> None:
    file = File({key: value}, release=without)
    (unread,) = [finding for finding in lint(file.subject(tmp_path)).findings if finding.property == key]
    assert (unread.id, unread.severity) == ("WB102", Severity.ERROR)
    if with_it:
        assert not reports(File({key: value}, release=with_it), tmp_path, "WB102")


def test_a_form_that_says_less_is_judged_by_what_it_says(tmp_path: Path) -> None:
    """An hbase-site.xml knows nothing of volumes, Java, YARN or applications, and is not blamed for that."""
    file = tmp_path / "hbase-site.xml"
    properties = (f"<property><name>{key}</name><value>{value}</value></property>" for key, value in SITE.items())
    file.write_text(f"<configuration>{''.join(properties)}</configuration>", encoding="utf-8")
    faults = lint(read_subject(file, "emr-7.12.0"))
    assert [finding.id for finding in (*faults.of(Severity.ERROR), *faults.of(Severity.WARNING))] == ["WB501"]
