"""Each form of a configuration, and each spelling of it, says the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from warmbase.emr.cluster_spec import ClusterSpec

Read = Callable[..., ClusterSpec]

SITE = '{"Classification": "hbase-site", "Properties": {"hbase.bucketcache.size": "8192"}}'
LISTS = {
    "list": f"[{SITE}]",
    "object": f'{{"Configurations": [{SITE}]}}',
    "one classification": SITE,
    "ConfigurationProperties": f"[{SITE.replace('Properties', 'ConfigurationProperties')}]",
    "number": f"[{SITE}]".replace('"8192"', "8192"),
    "tabs": f"[\n\t{SITE}\t\n]",
    "windows": f"\ufeff[{SITE}]\r\n",
    "yaml": "- Classification: hbase-site\n  Properties:\n    hbase.bucketcache.size: 8192\n",
    "yaml object": "# x\nConfigurations:\n- Classification: hbase-site\n  Properties: {hbase.bucketcache.size: 8192}\n",
    "resource": f'{{"Type": "AWS::EMR::Cluster", "Properties": {{"Configurations": [{SITE}]}}}}',
    "template": f"Resources:\n  X:\n    Type: AWS::EMR::Cluster\n    Properties: {{Configurations: [{SITE}]}}\n",
    "command": f"aws emr create-cluster --configurations '[{SITE}]'",
    "equals": f"aws emr create-cluster --configurations='[{SITE}]'",
    "double quotes": f"aws emr create-cluster --configurations {json.dumps(f'[{SITE}]')}",
    "shorthand": (
        "aws emr create-cluster --configurations Classification=hbase-site,Properties={hbase.bucketcache.size=8192}"
    ),
    "xml": (
        "<configuration><property><name> hbase.bucketcache.size\n</name><value>8192 </value></property></configuration>"
    ),
    "xml attributes": '<configuration><property name="hbase.bucketcache.size" value="8192"/></configuration>',
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS.keys())
def test_every_spelling_says_the_same(read: Read, text: str) -> None:
    subject = read(text)
    assert {key: setting.value for key, setting in subject.settings.items()} == {
        ("hbase-site", "hbase.bucketcache.size"): "8192"
    }
    assert set(subject.classifications) == {"hbase-site"}


LAUNCH = {
    "ReleaseLabel": "emr-7.12.0",
    "Applications": [{"Name": "HBase"}, {"Name": "Hive"}],
    "ManagedScalingPolicy": {"ComputeLimits": {}},
    "Instances": {
        "Ec2KeyName": "<key>",
        "InstanceGroups": [
            {"InstanceRole": "MASTER", "InstanceType": "m8g.xlarge", "InstanceCount": 1},
            {
                "InstanceRole": "CORE",
                "InstanceType": "r8g.2xlarge",
                "InstanceCount": 6,
                "EbsConfiguration": {
                    "EbsBlockDeviceConfigs": [{"VolumeSpecification": {"VolumeType": "gp3", "SizeInGB": 100}}]
                },
                "Configurations": [{"Classification": "hbase-site", "Properties": {"a": "b"}}],
            },
        ],
    },
}
GROUPS = {
    "MasterInstanceGroup": {"InstanceType": "m8g.xlarge", "InstanceCount": 1},
    "CoreInstanceGroup": LAUNCH["Instances"]["InstanceGroups"][1],  # type: ignore[index]
}
COMMAND = r"""#!/bin/bash
# don't run this twice
set -e
ID=$(aws --region us-east-1 emr \
  create-cluster \
  --release-label=emr-7.12.0 \
  --applications Name=HBase Name=Hive \
  --managed-scaling-policy ComputeLimits={UnitType=Instances} \
  --ec2-attributes KeyName=<key>,SubnetId=subnet-1 \
  --instance-groups InstanceGroupType=MASTER,InstanceCount=1,InstanceType=m8g.xlarge \
    InstanceGroupType=CORE,InstanceCount=6,InstanceType=r8g.2xlarge,\
EbsConfiguration={EbsBlockDeviceConfigs=[{VolumeSpecification={VolumeType=gp3,SizeInGB=100}}]},\
'Configurations=[{Classification=hbase-site,Properties={a=b}}]' \
  --query ClusterId --output text 2> log)
echo "it's $ID"
"""
LAUNCHES = {
    "RunJobFlow": json.dumps(LAUNCH, indent=2),
    "CloudFormation": json.dumps(LAUNCH | {"Instances": {"Ec2KeyName": "x", **GROUPS}}, indent="\t"),
    "command": COMMAND,
}


@pytest.mark.parametrize("text", LAUNCHES.values(), ids=LAUNCHES.keys())
def test_every_launch_says_the_same(read: Read, text: str) -> None:
    subject = read(text)
    assert subject.release_label == "emr-7.12.0"
    assert subject.applications == ("HBase", "Hive")
    assert [(group.role, group.instance_type, group.count) for group in subject.groups] == [
        ("primary", "m8g.xlarge", 1),
        ("core", "r8g.2xlarge", 6),
    ]
    core = subject.groups[1]
    assert [(volume.type, volume.size_gib, volume.count) for volume in core.volumes] == [("gp3", 100, 1)]
    assert core.settings["hbase-site", "a"].value == "b"
    assert list(subject.classifications) == ["hbase-site"]
    lines = text.splitlines()
    assert "KeyName" in lines[(subject.key_pair or 0) - 1]
    assert "caling" in lines[(subject.managed_scaling or 0) - 1]


UNIFORM = [
    ("--instance-type m8g.xlarge --instance-count 7", [("primary", "m8g.xlarge", 1), ("core", "m8g.xlarge", 6)]),
    ("--instance-type m8g.xlarge --instance-count 1", [("primary", "m8g.xlarge", 1)]),
    ("--instance-type m8g.xlarge", [("primary", "m8g.xlarge", 1)]),
    ("--instance-type <type> --instance-count <count>", [("primary", None, 1), ("core", None, None)]),
    ("--instance-groups InstanceGroupType=TASK,InstanceType=$TYPE,InstanceCount=<n>", [("task", None, None)]),
    ('--instance-groups "${GROUPS}"', []),
]


@pytest.mark.parametrize(("options", "groups"), UNIFORM)
def test_groups_of_a_command(read: Read, options: str, groups: list[tuple[str, str | None, int | None]]) -> None:
    subject = read(f"aws emr create-cluster --name x {options}")
    assert [(group.role, group.instance_type, group.count) for group in subject.groups] == groups


def test_files_of_a_command_stand_beside_it(read: Read, tmp_path: Path) -> None:
    (tmp_path / "ours.json").write_text(f"\n\n\n[{SITE}]")
    subject = read("aws emr create-cluster \\\n  --configurations file://ours.json")
    assert subject.settings["hbase-site", "hbase.bucketcache.size"].line == 2


def test_options_win_over_the_input_file(read: Read, tmp_path: Path) -> None:
    (tmp_path / "launch.json").write_text(json.dumps(LAUNCH))
    subject = read(
        "aws emr create-cluster --cli-input-json file://launch.json --release-label emr-7.3.0"
        " --ec2-attributes KeyName=k --applications Name=HBase"
    )
    assert (subject.release_label, subject.applications) == ("emr-7.3.0", ("HBase",))
    assert [group.count for group in subject.groups] == [1, 6]
    assert subject.key_pair == 1


def test_fleets_are_reported_by_their_line(read: Read) -> None:
    assert read('{"Instances": {\n"InstanceFleets": [{"InstanceFleetType": "CORE"}]}}').fleets == 2
    assert read('{"Instances": {\n"InstanceFleets": []}}').fleets is None
    assert read("Instances:\n  Ec2KeyName: k\n  CoreInstanceFleet:\n    TargetOnDemandCapacity: 1\n").fleets == 3


XML = """<?xml version="1.0" encoding="ISO-8859-1"?>
<configuration>
  <property>
    <!-- a comment -->
    <name>a&amp;b</name>
    <value>
      1 &lt; 2 </value>
    <final>true</final>
  </property>
  <property><description>why</description><name>heap</name><value>-Xmx<your-heap>m</value></property>
  <property>
    <name>heap</name><value/></property>
</configuration>
"""


def test_xml_is_read_as_hadoop_does(read: Read) -> None:
    subject = read(XML)
    settings = subject.settings
    assert subject.only == "hbase-site"
    assert (settings["hbase-site", "a&b"].value, settings["hbase-site", "a&b"].line) == ("1 < 2", 5)
    assert (settings["hbase-site", "heap"].value, settings["hbase-site", "heap"].line) == ("", 12)
    assert [(setting.key, setting.line) for setting in subject.twice] == [("heap", 12)]
    assert (
        read(XML.replace("<name>heap</name><value/>", "<name>b</name><value/>"))
        .settings["hbase-site", "heap"]
        .is_placeholder
    )


@pytest.mark.parametrize("name", ["core-site", "hdfs-site", "yarn-site", "mapred-site", "hbase-site"])
def test_xml_is_of_the_classification_that_its_file_is_named_for(read: Read, name: str) -> None:
    assert read("<configuration/>", f"{name}.xml").only == name


def test_the_later_wins_and_is_noted(read: Read) -> None:
    subject = read(
        '[{"Classification": "a", "Properties": {"k": "1",\n"k": "2"}},\n'
        '{"Classification": "a", "Properties": {"k": "3", "other": "4"}},\n'
        '{"Classification": "b", "Configurations": [{"Classification": "a",\n"Properties": {"k": "5"}}]}]'
    )
    assert {key: (setting.value, setting.line) for key, setting in subject.settings.items()} == {
        ("a", "k"): ("3", 3),
        ("a", "other"): ("4", 3),
        ("b/a", "k"): ("5", 5),
    }
    assert [(setting.classification, setting.key, setting.value, setting.line) for setting in subject.twice] == [
        ("a", "k", "2", 2),
        ("a", "Classification", "a", 3),
        ("a", "k", "3", 3),
    ]


def test_a_group_may_state_again_what_the_cluster_does(read: Read) -> None:
    group = f'{{"InstanceRole": "CORE", "Configurations": [{SITE.replace("8192", "1")}]}}'
    subject = read(f'{{"Configurations": [{SITE}], "Instances": {{"InstanceGroups": [{group}]}}}}')
    assert subject.twice == ()
    assert subject.effective("core")["hbase-site", "hbase.bucketcache.size"].value == "1"


RELEASES = [
    ("", None, None),
    ("", "emr-7.3.0", "emr-7.3.0"),
    ("--release-label emr-7.3.0", "emr-7.3.0", "emr-7.3.0"),
    ("--release-label <release>", "emr-7.3.0", "emr-7.3.0"),
    ("--release-label $RELEASE", None, None),
]


@pytest.mark.parametrize(("option", "release", "label"), RELEASES)
def test_release_applies_where_a_file_names_none(
    read: Read, option: str, release: str | None, label: str | None
) -> None:
    assert read(f"aws emr create-cluster --name x {option}", release=release).release_label == label


PLACEHOLDERS = """{
  "Configurations": [<your classifications>,
    {"Classification": "hbase-site", "Properties": {"a": <a, or b>, "b": null}},
    {"Classification": "x", "Properties": <properties>, "Configurations": ${MORE}}],
  "Applications": [{"Name": <application>}, {"Name": "HBase"}],
  "Instances": {"InstanceGroups": [
    {"InstanceRole": "CORE", "InstanceType": <type>, "InstanceCount": <count>, "EbsConfiguration": {
      "EbsBlockDeviceConfigs": [{"VolumeSpecification": {"SizeInGB": "<size>"}, "VolumesPerInstance": <n>}, <more>]}},
    {"InstanceRole": "<role>"}]}
}"""


def test_placeholders_are_read_anywhere(read: Read) -> None:
    subject = read(PLACEHOLDERS)
    assert [setting.value for setting in subject.settings.values()] == ["<a, or b>", "null"]
    assert subject.applications == ("HBase",)
    (core,) = subject.groups
    assert (core.instance_type, core.count) == (None, None)
    assert (core.volumes[0].size_gib, core.volumes[0].count) == (None, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("!Ref Heap", "${Heap}"),
        ("!Sub '${AWS::Region}-x'", "${AWS::Region}-x"),
        ("!GetAtt A.B", "${Fn::GetAtt}"),
        ("{Ref: Heap}", "${Heap}"),
        ("on", "on"),
        ("", ""),
        ("07", "07"),
        ("'\U0001f525' # é", "\U0001f525"),
    ],
)
def test_yaml_values_stay_as_written(read: Read, value: str, text: str) -> None:
    subject = read(f"- Classification: x\n  Properties:\n    \U0001f525é: {value}\n    last: 1")
    assert subject.settings["x", "\U0001f525é"].value == text
    assert subject.settings["x", "last"].line == 4


COUNT = '"Classification": "hbase-site", "{properties}": {{"hbase.regionserver.handler.count": {value}}}'
TEMPLATE = '{{"Type": "AWS::EMR::Cluster", "Properties": {{"Configurations": [{{{0}}}]}}}}'
PROPERTY = "<property><name>hbase.regionserver.handler.count</name><value>60</value></property>"
WITHOUT_QUOTES = [
    (f"[{{{COUNT.format(properties='Properties', value='60')}}}]", False),
    (f"[{{{COUNT.format(properties='Properties', value='true')}}}]", False),
    (f"[{{{COUNT.format(properties='Properties', value='<threads>')}}}]", True),
    (f"[{{{COUNT.format(properties='Properties', value='${THREADS}')}}}]", True),
    (f"[{{{COUNT.format(properties='Properties', value=json.dumps('60'))}}}]", True),
    (f"aws emr create-cluster --configurations '[{{{COUNT.format(properties='Properties', value='60')}}}]'", False),
    (TEMPLATE.format(COUNT.format(properties="ConfigurationProperties", value="60")), True),
    ("- Classification: hbase-site\n  Properties:\n    hbase.regionserver.handler.count: 60\n", True),
    (f"<configuration>{PROPERTY}</configuration>", True),
]


@pytest.mark.parametrize(("text", "quoted"), WITHOUT_QUOTES)
def test_a_number_of_json_has_no_quotes_where_emr_wants_them(read: Read, text: str, *, quoted: bool) -> None:
    assert read(text).settings["hbase-site", "hbase.regionserver.handler.count"].quoted == quoted


HEREDOCS = {
    "file": "cat <<'EOF' >conf.json\n{}\nEOF\naws emr create-cluster --configurations file://./conf.json\n",
    "tee": "tee conf.json <<-EOF\n{}\n\tEOF\naws emr create-cluster --configurations file://conf.json\n",
    "word": 'aws emr create-cluster --configurations "$(cat <<EOF\n{}\nEOF\n)" --release-label emr-7.12.0\n',
}


@pytest.mark.parametrize("form", list(HEREDOCS))
def test_a_here_document_is_read_with_its_lines(form: str, read: Read) -> None:
    document = '[{"Classification": "hbase-site",\n "Properties": {"a": "(1)",\n "b": "$X"}}]'
    subject = read(HEREDOCS[form].replace("{}", document), "create.sh")
    values = {key: (setting.value, setting.line) for (_, key), setting in subject.settings.items()}
    assert values["a"] == ("(1)", 3)
    assert values["b"] == ("$X" if form == "file" else "${X}", 4)
