"""The codecs of EMR's API and of CloudFormation read what they write, and a template that ships."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given

from tests.emr.clusters import CLUSTERS, template_properties
from tests.shipped import ENVIRONMENTS
from tests.stacks.template import Templates, cluster
from warmbase.emr import api, cloudformation
from warmbase.emr.cluster_spec import Classification, ClusterSpec, EbsVolume, classifications_of, counted, settings_of


def via_json(value: object) -> Any:
    """The value as a file or a service would return it."""
    return json.loads(json.dumps(value))


@given(CLUSTERS)
def test_the_cloudformation_codec_reads_what_it_writes(spec: ClusterSpec) -> None:
    assert cloudformation.read_cluster(via_json(template_properties(spec)), "test") == spec


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_shipped_template_is_written_as_it_was_read(name: str, templates: Callable[[str], Templates]) -> None:
    properties = cluster(templates(name), name)
    written = template_properties(cloudformation.read_cluster(properties, name))
    # CDK joins the option and the address of each asset, which says the same as one Fn::Sub.
    shipped = {**properties, "BootstrapActions": [with_sub(action) for action in properties["BootstrapActions"]]}
    groups = written["Instances"]
    assert written == {key: shipped[key] for key in written if key != "Instances"} | {"Instances": groups}
    assert groups == {key: shipped["Instances"][key] for key in ("MasterInstanceGroup", "CoreInstanceGroup")}


def with_sub(value: Any) -> Any:
    """Return the value with `Fn::Join` of texts and of one `Fn::Sub` as one `Fn::Sub`."""
    if isinstance(value, list):
        return [with_sub(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.keys() == {"Fn::Join"}:
        separator, parts = value["Fn::Join"]
        return {"Fn::Sub": separator.join(part if isinstance(part, str) else part["Fn::Sub"] for part in parts)}
    return {key: with_sub(inner) for key, inner in value.items()}


def test_a_text_that_hadoop_fills_in_is_escaped_where_cloudformation_fills_in_too() -> None:
    text = "s3://logs-${AWS::AccountId}/${hbase.tmp.dir}"
    [written] = cloudformation.write_classifications([Classification(name="hbase-site", properties={"a": text})])
    assert written["ConfigurationProperties"] == {"a": {"Fn::Sub": "s3://logs-${AWS::AccountId}/${!hbase.tmp.dir}"}}
    [plain] = cloudformation.write_classifications([Classification(name="hbase-site", properties={"a": "${b.c}"})])
    assert plain["ConfigurationProperties"] == {"a": "${b.c}"}


def test_a_reference_is_read_as_cloudformation_would_substitute_it() -> None:
    properties = {
        "a": {"Ref": "Bucket"},
        "b": {"Fn::GetAtt": ["Key", "Arn"]},
        "c": {"Fn::Join": ["/", ["s3:/", {"Ref": "Bucket"}]]},
        "d": True,
        "e": 3,
    }
    value = {"Configurations": [{"Classification": "hbase-site", "ConfigurationProperties": properties}]}
    settings = cloudformation.read_cluster(value, "test").settings.values()
    assert [setting.value for setting in settings] == ["${Bucket}", "${Key.Arn}", "s3://${Bucket}", "true", "3"]


def test_emr_takes_texts_alone() -> None:
    with pytest.raises(TypeError, match="a property is 1, and EMR takes strings"):
        api.read_classifications([{"Classification": "hbase-site", "Properties": {"a": 1}}])


@given(CLUSTERS)
def test_classifications_hold_the_settings_that_they_were_made_of(spec: ClusterSpec) -> None:
    assert settings_of(classifications_of(spec.settings)) == spec.settings


def test_equal_volumes_are_counted_together() -> None:
    def volume(size_gib: int, count: int = 1) -> EbsVolume:
        return EbsVolume(type="gp3", size_gib=size_gib, iops=3000, throughput_mib_s=125, count=count)

    assert counted([volume(64), volume(32), volume(64, count=2)]) == (volume(32), volume(64, count=3))
