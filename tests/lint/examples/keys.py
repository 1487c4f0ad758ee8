"""Keys and values, each by itself; and secrets."""

from __future__ import annotations

from tests.lint.examples.case import Case, value_case
from tests.lint.examples.file import APPLICATIONS, File
from warmbase.emr.cluster_spec import TableCoprocessor

INDEX = TableCoprocessor(table="orders", class_name="org.example.Index")
PHOENIX = TableCoprocessor(table="events", class_name="org.apache.phoenix.coprocessor.ScanRegionObserver")
CONTROLLED = {"hbase.coprocessor.region.classes": "org.apache.hadoop.hbase.security.access.AccessController"}

KEYS = (
    Case(
        "WB101",
        "hbase.regionserver.handlers.count",
        "unknown key; did you mean hbase.regionserver.handler.count?",
        File({"hbase.regionserver.handlers.count": "60"}),
        File({"hbase.regionserver.handler.count": "60"}),
    ),
    Case(
        "WB102",
        "hbase.regionserver.datatiering.enable",
        "emr-7.12.0 does not read hbase.regionserver.datatiering.enable",
        File({"hbase.regionserver.datatiering.enable": "true"}),
        File({"hbase.regionserver.datatiering.enable": "true"}, release="emr-7.13.0"),
    ),
    value_case(
        "WB103",
        "phoenix.functions.allowUserDefinedFunctions",
        "true",
        None,
        "Hadoop and EMR do not read phoenix.functions.allowUserDefinedFunctions",
    ),
    value_case("WB104", "hbase.regionserver.handler.count", "many", "60", "'many' is not a whole number"),
    Case(
        "WB105",
        "hdfs-site hbase.regionserver.handler.count",
        "HBase does not read hbase.regionserver.handler.count from hdfs-site",
        File(others={"hdfs-site": {"hbase.regionserver.handler.count": "60"}}),
        File(others={"core-site": {"hbase.regionserver.handler.count": "60"}}),
    ),
    value_case(
        "WB106",
        "hbase.regionserver.handler.count",
        "<your-threads>",
        "60",
        "still has a placeholder; it takes a whole number, 1 or more, in threads",
    ),
    Case(
        "WB107",
        "hbase.regionserver.handler.count",
        "hbase.regionserver.handler.count is already set above",
        File(
            {"hbase.regionserver.handler.count": "60"},
            again=({"Classification": "hbase-site", "Properties": {"hbase.regionserver.handler.count": "90"}},),
        ),
        File(again=({"Classification": "hbase-site", "Properties": {"hbase.regionserver.handler.count": "90"}},)),
    ),
    Case(
        "WB108",
        "hbase-log4j ",
        "EMR 7.9 removed hbase-log4j",
        File(others={"hbase-log4j": {"log4j.logger.x": "DEBUG"}}),
        File(others={"hbase-log4j2": {"logger.x.level": "DEBUG"}}),
    ),
    Case(
        "WB109",
        "hbase-log4j2 ",
        "hbase-log4j2 exists only from EMR 7.9 on",
        File(others={"hbase-log4j2": {"logger.x.level": "DEBUG"}}, release="emr-7.8.0"),
        File(others={"hbase-log4j": {"log4j.logger.x": "DEBUG"}}, release="emr-7.8.0"),
    ),
    Case("WB110", " ", "the file does not name its release", File(release=None)),
    Case(
        "WB111",
        "hdfs-site dfs.datanode.max.xcievers",
        "dfs.datanode.max.xcievers is the old name of",
        File(others={"hdfs-site": {"dfs.datanode.max.xcievers": "4096"}}),
        File(others={"hdfs-site": {"dfs.datanode.max.transfer.threads": "4096"}}),
    ),
    Case(
        "WB112",
        "Hdfs-site ",
        "there is no classification Hdfs-site; did you mean hdfs-site?",
        File(others={"Hdfs-site": {"dfs.replication": "2"}}),
        File(others={"hdfs-site": {"dfs.replication": "2"}}),
    ),
    Case(
        "WB113",
        "zoo.cfg ",
        "EMR documents no classification zoo.cfg",
        File(others={"zoo.cfg": {"maxClientCnxns": "60"}}),
        File(others={"zookeeper-config": {"maxClientCnxns": "60"}}),
    ),
    Case(
        "WB114",
        "hbase-env HBASE_MANAGES_ZK",
        "HBASE_MANAGES_ZK is in hbase-env itself, not in its export",
        File(others={"hbase-env": {"HBASE_MANAGES_ZK": "false"}}),
        File(others={"hbase-env/export": {"HBASE_MANAGES_ZK": "false"}}),
    ),
    Case(
        id="WB116",
        faulty=File(release="emr-7.5.0"),
        at=" ",
        says="standard support of emr-7.5.0 ended on or before 2026-11-20",
        with_it=("WB301", "WB402"),  # what so old a release lacks
    ),
    Case(
        "WB115",
        "hbase.regionserver.handler.count",
        "the value of hbase.regionserver.handler.count is a JSON",
        File(again=({"Classification": "hbase-site", "Properties": {"hbase.regionserver.handler.count": 60}},)),
        File(again=({"Classification": "hbase-site", "Properties": {"hbase.regionserver.handler.count": "60"}},)),
    ),
    value_case("WB117", "hbase.rpc.timeout", "90s", "90000", "'90s' is not a whole number; HBase's default is 60000"),
    Case(
        "WB901",
        "core-site fs.s3a.secret.key",
        "fs.s3a.secret.key contains a credential",
        File(others={"core-site": {"fs.s3a.secret.key": "x"}}),
        File(others={"core-site": {"fs.s3a.encryption.algorithm": "SSE-KMS"}}),
    ),
    Case(
        "WB902",
        " access.cidrs",
        "any program in 10.0.0.0/16, 10.1.0.0/16 can act as any HBase user",
        File(open_networks=("10.0.0.0/16", "10.1.0.0/16")),
        File(CONTROLLED, open_networks=("10.0.0.0/16",), cluster={"KerberosAttributes": {"Realm": "EC2.INTERNAL"}}),
    ),
    Case(
        "WB903",
        "hbase.security.authorization",
        "permissions of users that it does not authenticate",
        File({"hbase.security.authorization": "true"}),
        File({"hbase.security.authorization": "true", "hbase.security.authentication": "kerberos", **CONTROLLED}),
    ),
    Case(
        "WB904",
        "hbase.coprocessor.region.classes",
        "any user with a ticket can read, change and drop every table",
        File({"hbase.security.authentication": "kerberos"}),
        File({"hbase.security.authentication": "kerberos", **CONTROLLED}),
    ),
    Case(
        "WB905",
        "hbase.coprocessor.user.enabled",
        "table orders has coprocessors: org.example.Index",
        File({"hbase.coprocessor.user.enabled": "false"}, coprocessors=(INDEX,)),
        File({"hbase.coprocessor.user.enabled": "false"}),
    ),
    Case(
        "WB906",
        "table orders",
        "table orders loads org.example.Index",
        File(coprocessors=(INDEX, PHOENIX), applications=(*APPLICATIONS, "Phoenix")),
        File(coprocessors=(PHOENIX,), applications=(*APPLICATIONS, "Phoenix")),
    ),
    Case(
        "WB907",
        "table events",
        "table events needs Phoenix, and it is not among the applications",
        File(coprocessors=(PHOENIX,)),
        File(coprocessors=(PHOENIX,), applications=(*APPLICATIONS, "Phoenix")),
    ),
)
