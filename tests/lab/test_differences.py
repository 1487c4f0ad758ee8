"""The list of properties that lab and local AWS set themselves is complete, and the region of S3 is not on it."""

from __future__ import annotations

import re
from pathlib import Path

from lab.differences import differences
from warmbase.facts.keys import emr_keys, hadoop_keys, hbase_keys

PROJECT = Path(__file__).parents[2]
TEXT = re.compile(r'"([a-z][\w-]*(?:\.[\w-]+)+)"')
EXPERIMENTS = ("scenarios", "boots", "report", "software")
"""Their results state what they vary."""
CONFIGURED = {*hbase_keys(), *hadoop_keys(), *emr_keys()}


def literals(*folders: str) -> set[str]:
    """The keys that stand in the code of the folders as texts of their own."""
    files = (file for folder in folders for file in (PROJECT / folder).rglob("*.py"))
    code = (file.read_text(encoding="utf-8") for file in files if not {*EXPERIMENTS} & {*file.parts})
    return {key for text in code for key in TEXT.findall(text) if key in CONFIGURED}


def test_every_key_that_they_set_is_on_the_list_with_a_reason() -> None:
    listed = {difference.key for difference in differences()}
    assert literals("lab/hbase", "local_aws") <= listed
    assert all(difference.why for difference in differences())
    assert "fs.s3a.endpoint" in listed


def test_the_lab_uses_the_rendered_region() -> None:
    assert "fs.s3a.endpoint.region" not in {difference.key for difference in differences()}
