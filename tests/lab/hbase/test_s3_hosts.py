"""S3A of the release's Hadoop asks the region's own S3, with every rendered configuration, and no other region's."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from lab.hbase.configuration import FIRST_TIER, OPENED
from lab.hbase.software import problems, software
from tests.configurations.variants import VARIANTS, variant_launch
from warmbase.configurations.launch import Launch
from warmbase.emr.cluster_spec import flattened
from warmbase.environments.reader import read_environment
from warmbase.facts.releases import releases

pytestmark = [pytest.mark.lab, pytest.mark.skipif(bool(list(problems())), reason="the lab is not set up")]

REGION = "fs.s3a.endpoint.region"
ENDPOINTS = {
    "us-east-1": "s3.us-east-1.amazonaws.com",
    "eu-west-1": "s3.eu-west-1.amazonaws.com",
    "us-gov-west-1": "s3.us-gov-west-1.amazonaws.com",
    "cn-north-1": "s3.cn-north-1.amazonaws.com.cn",
}
"""The endpoint of S3 in a region of each partition: AWS General Reference, Amazon S3 endpoints and quotas."""


def rendered(launches: Callable[[str], Launch]) -> Iterator[tuple[str, dict[str, str]]]:
    """The properties of S3A in each group of each launch, in which the region of the environment stands."""
    named = {name: launches(name) for name in ("dev", "prod", "published-emr")}
    named |= {f"{variant} {label}": variant_launch(variant, label) for variant in VARIANTS for label in RELEASES}
    for name, launch in named.items():
        for group in ("primary", "core"):
            settings = [*flattened(launch.settings.effective(group))]
            sites = [
                (key, value) for site in ("core-site", "hbase-site") for path, key, value in settings if path == site
            ]
            yield f"{name} {group}", {key: value for key, value in sites if key.startswith("fs.s3a.")}


RELEASES = [label for label, release in releases().items() if release.s3_connector == "s3a"][-2:]


def hosts(configurations: Sequence[dict[str, str]], directory: Path) -> list[set[str]]:
    """The hosts that S3A asks with each configuration. Nothing is sent."""
    parts = software(releases()[read_environment("prod").release])
    lines = "".join(f"{json.dumps(each | {'fs.s3a.buffer.dir': str(directory)})}\n" for each in configurations)
    command = [str(parts.java), *OPENED, *FIRST_TIER, "-cp", ":".join(parts.class_path), "warmbase.lab.S3Hosts"]
    process = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=600, check=False)
    assert process.returncode == 0, process.stderr[-2000:]
    return [set(line.split()) for line in process.stdout.splitlines()]


def test_s3a_asks_the_region_of_the_cluster_and_no_other(launches: Callable[[str], Launch], tmp_path: Path) -> None:
    cases = dict(rendered(launches))
    assert all(properties[REGION] == "us-east-1" for properties in cases.values())
    distinct = [json.loads(text) for text in {json.dumps(properties, sort_keys=True) for properties in cases.values()}]
    asked = [(region, properties | {REGION: region}) for region in ENDPOINTS for properties in distinct]
    answers = hosts([properties for _, properties in asked], tmp_path)
    assert len(answers) == len(asked) >= 4 * len(ENDPOINTS)
    for (region, _), answer in zip(asked, answers, strict=True):
        assert answer == {f"warmbase-root.{ENDPOINTS[region]}"}


def test_without_the_key_s3a_asks_another_region(launches: Callable[[str], Launch], tmp_path: Path) -> None:
    properties = dict(rendered(launches))["prod core"]
    del properties[REGION]
    assert hosts([properties], tmp_path) == [{"warmbase-root.s3.us-east-2.amazonaws.com"}]
