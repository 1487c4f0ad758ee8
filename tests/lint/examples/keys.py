"""Keys and values, each by itself; and secrets."""

from __future__ import annotations

from tests.lint.examples.case import Case
from tests.lint.examples.file import APPLICATIONS, File
from warmbase.emr.cluster_spec import TableCoprocessor

INDEX = TableCoprocessor(table="orders", class_name="org.example.Index")
PHOENIX = TableCoprocessor(table="events", class_name="org.apache.phoenix.coprocessor.ScanRegionObserver")
CONTROLLED = {"hbase.coprocessor.region.classes": "org.apache.hadoop.hbase.security.access.AccessController"}

KEYS = (
    Case(
        id="WB101",
        faulty=File(site={"hbase.regionserver.handlers.count": "60"}),
        right=File(site={"hbase.regionserver.handler.count": "60"}),
        at="hbase.regionserver.handlers.count",
        says="unknown key; did you mean hbase.regionserver.handler.count?",
    ),
    Case(
        id="WB102",
        faulty=File(site={"hbase.regionserver.datatiering.enable": "true"}),
        right=File(site={"hbase.regionserver.datatiering.enable": "true"}, release="emr-7.13.0"),
        at="hbase.regionserver.datatiering.enable",
        says="emr-7.12.0 does not read hbase.regionserver.datatiering.enable",
    ),
    Case(
        id="WB103",
        faulty=File(site={"phoenix.functions.allowUserDefinedFunctions": "true"}),
        at="phoenix.functions.allowUserDefinedFunctions",
        says="Hadoop and EMR do not read phoenix.functions.allowUserDefinedFunctions",
    ),
    Case(
        id="WB104",
        faulty=File(site={"hbase.regionserver.handler.count": "many"}),
        right=File(site={"hbase.regionserver.handler.count": "60"}),
        at="hbase.regionserver.handler.count",
        says="'many' is not a whole number",
    ),
    Case(
        id="WB105",
        faulty=File(others={"hdfs-site": {"hbase.regionserver.handler.count": "60"}}),
        right=File(others={"core-site": {"hbase.regionserver.handler.count": "60"}}),
        at="hdfs-site hbase.regionserver.handler.count",
        says="HBase does not read hbase.regionserver.handler.count from hdfs-site",
    ),
    Case(
        id="WB106",
        faulty=File(site={"hbase.regionserver.handler.count": "<your-threads>"}),
        right=File(site={"hbase.regionserver.handler.count": "60"}),
        at="hbase.regionserver.handler.count",
        says="still has a placeholder; it takes a whole number, 1 or more, in threads",
    ),
    Case(
        id="WB107",
        faulty=File(
            site={"hbase.regionserver.handler.count": "60"},
            again=({"Classification": "hbase-site", "Properties": {"hbase.regionserver.handler.count": "90"}},),
        ),
        right=File(again=({"Classification": "hbase-site", "Properties": {"hbase.regionserver.handler.count": "90"}},)),
        at="hbase.regionserver.handler.count",
        says="hbase.regionserver.handler.count is already set above",
    ),
    Case(
        id="WB108",
        faulty=File(others={"hbase-log4j": {"log4j.logger.x": "DEBUG"}}),
        right=File(others={"hbase-log4j2": {"logger.x.level": "DEBUG"}}),
        at="hbase-log4j ",
        says="EMR 7.9 removed hbase-log4j",
    ),
    Case(
        id="WB109",
        faulty=File(others={"hbase-log4j2": {"logger.x.level": "DEBUG"}}, release="emr-7.8.0"),
        right=File(others={"hbase-log4j": {"log4j.logger.x": "DEBUG"}}, release="emr-7.8.0"),
        at="hbase-log4j2 ",
        says="hbase-log4j2 exists only from EMR 7.9 on",
    ),
    Case(id="WB110", faulty=File(release=None), at=" ", says="the file does not name its release"),
    Case(
        id="WB111",
        faulty=File(others={"hdfs-site": {"dfs.datanode.max.xcievers": "4096"}}),
        right=File(others={"hdfs-site": {"dfs.datanode.max.transfer.threads": "4096"}}),
        at="hdfs-site dfs.datanode.max.xcievers",
        says="dfs.datanode.max.xcievers is the old name of",
    ),
    Case(
        id="WB112",
        faulty=File(others={"Hdfs-site": {"dfs.replication": "2"}}),
        right=File(others={"hdfs-site": {"dfs.replication": "2"}}),
        at="Hdfs-site ",
        says="there is no classification Hdfs-site; did you mean hdfs-site?",
    ),
    Case(
        id="WB113",
        faulty=File(others={"zoo.cfg": {"maxClientCnxns": "60"}}),
        right=File(others={"zookeeper-config": {"maxClientCnxns": "60"}}),
        at="zoo.cfg ",
        says="EMR documents no classification zoo.cfg",
    ),
    Case(
        id="WB114",
        faulty=File(others={"hbase-env": {"HBASE_MANAGES_ZK": "false"}}),
        right=File(others={"hbase-env/export": {"HBASE_MANAGES_ZK": "false"}}),
        at="hbase-env HBASE_MANAGES_ZK",
        says="HBASE_MANAGES_ZK is in hbase-env itself, not in its export",
    ),
    Case(
        id="WB116",
        faulty=File(release="emr-7.5.0"),
        at=" ",
        says="standard support of emr-7.5.0 ended on or before 2026-11-20",
        with_it=("WB301", "WB402"),  # what so old a release lacks
    ),
    Case(
        id="WB115",
        faulty=File(again=({"Classification": "hbase-site", "Properties": {"hbase.regionserver.handler.count": 60}},)),
        right=File(again=({"Classification": "hbase-site", "Properties": {"hbase.regionserver.handler.count": "60"}},)),
        at="hbase.regionserver.handler.count",
        says="the value of hbase.regionserver.handler.count is a JSON",
    ),
    Case(
        id="WB117",
        faulty=File(site={"hbase.rpc.timeout": "90s"}),
        right=File(site={"hbase.rpc.timeout": "90000"}),
        at="hbase.rpc.timeout",
        says="'90s' is not a whole number; HBase's default is 60000",
    ),
    Case(
        id="WB901",
        faulty=File(others={"core-site": {"fs.s3a.secret.key": "x"}}),
        right=File(others={"core-site": {"fs.s3a.encryption.algorithm": "SSE-KMS"}}),
        at="core-site fs.s3a.secret.key",
        says="fs.s3a.secret.key contains a credential",
    ),
    Case(
        id="WB902",
        faulty=File(open_networks=("10.0.0.0/16", "10.1.0.0/16")),
        right=File(
            open_networks=("10.0.0.0/16",), cluster={"KerberosAttributes": {"Realm": "EC2.INTERNAL"}}, site=CONTROLLED
        ),
        at=" access.cidrs",
        says="any program in 10.0.0.0/16, 10.1.0.0/16 can act as any HBase user",
    ),
    Case(
        id="WB903",
        faulty=File(site={"hbase.security.authorization": "true"}),
        right=File(
            site={"hbase.security.authorization": "true", "hbase.security.authentication": "kerberos", **CONTROLLED}
        ),
        at="hbase.security.authorization",
        says="permissions of users that it does not authenticate",
    ),
    Case(
        id="WB904",
        faulty=File(site={"hbase.security.authentication": "kerberos"}),
        right=File(site={"hbase.security.authentication": "kerberos", **CONTROLLED}),
        at="hbase.coprocessor.region.classes",
        says="any user with a ticket can read, change and drop every table",
    ),
    Case(
        id="WB905",
        faulty=File(site={"hbase.coprocessor.user.enabled": "false"}, coprocessors=(INDEX,)),
        right=File(site={"hbase.coprocessor.user.enabled": "false"}),
        at="hbase.coprocessor.user.enabled",
        says="table orders has coprocessors: org.example.Index",
    ),
    Case(
        id="WB906",
        faulty=File(coprocessors=(INDEX, PHOENIX), applications=(*APPLICATIONS, "Phoenix")),
        right=File(coprocessors=(PHOENIX,), applications=(*APPLICATIONS, "Phoenix")),
        at="table orders",
        says="table orders loads org.example.Index",
    ),
    Case(
        id="WB907",
        faulty=File(coprocessors=(PHOENIX,)),
        right=File(coprocessors=(PHOENIX,), applications=(*APPLICATIONS, "Phoenix")),
        at="table events",
        says="table events needs Phoenix, and it is not among the applications",
    ),
)
