"""The storage stack: what outlives every stack, and what the root bucket forgets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.shipped import ENVIRONMENTS
from tests.stacks.template import Templates, only


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_root_its_key_and_the_logs_outlive_the_stacks_and_nothing_else(
    name: str, templates: Callable[[str], Templates]
) -> None:
    kept = [
        (stack, resource["Type"], resource["DeletionPolicy"], resource["UpdateReplacePolicy"])
        for stack, template in templates(name).items()
        for resource in template["Resources"].values()
        if resource.get("DeletionPolicy", "Delete") != "Delete" or resource.get("UpdateReplacePolicy") == "Retain"
    ]
    storage = f"warmbase-{name}-storage"
    assert sorted(kept) == [
        (storage, each, "Retain", "Retain") for each in ("AWS::KMS::Key", "AWS::S3::Bucket", "AWS::S3::Bucket")
    ]


def test_the_root_bucket_forgets_old_versions_broken_uploads_and_delete_markers(
    templates: Callable[[str], Templates],
) -> None:
    root = only(templates("prod")["warmbase-prod-storage"], "AWS::S3::Bucket", "Root")
    [rule] = root["LifecycleConfiguration"]["Rules"]
    assert root["VersioningConfiguration"] == {"Status": "Enabled"}
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 3}
    assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 3}
    assert rule["ExpiredObjectDeleteMarker"] is True
    assert root["MetricsConfigurations"] == [{"Id": "hbase-root", "Prefix": "hbase/"}]
