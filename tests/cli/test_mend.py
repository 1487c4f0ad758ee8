"""`warmbase lint --fix` shows, asks and writes; it shows no secret, and leaves decisions to the user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import run

FAULTY = """# ours, do not touch
aws emr create-cluster --release-label emr-7.12.0 --configurations '[
  {"Classification": "hbase-site", "Properties": {
    "hbase.regionserver.handlers.count": "60",   "zookeeper.session.timeout": "90 s",
    "fs.s3a.secret.key": "wJalrXUtnFEMI/K7MDENG",
    "hbase.bucketcache.size": "0.4"}}]'
export AWS_SECRET_ACCESS_KEY=abcdefSECRET
"""
MENDED = FAULTY.replace("handlers.count", "handler.count").replace('"90 s"', '"90000"')


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "create.sh"
    file.write_text(FAULTY)
    file.chmod(0o755)
    return file


def test_a_file_is_corrected_in_place_and_keeps_its_permissions(script: Path) -> None:
    result = run("lint", "--file", str(script), "--fix", "--yes")
    assert script.read_text() == MENDED
    assert script.stat().st_mode & 0o777 == 0o755
    assert [file.name for file in script.parent.iterdir()] == ["create.sh"]
    assert "2 corrections" in result.stdout
    assert f"wrote {script}" in result.stderr
    again = run("lint", "--file", str(script), "--fix", "--yes")
    assert "No finding has exactly one possible correction" in again.stdout
    assert "wrote" not in again.stderr


def test_decisions_are_listed_and_end_with_3(script: Path) -> None:
    result = run("lint", "--file", str(script), "--fix", "--yes")
    assert result.returncode == 3
    decisions = result.stdout.partition(" left for you to decide\n")[2]
    assert "WB201  line 6" in decisions
    assert "WB901  line 5" in decisions


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_a_dry_run_shows_the_diff_and_writes_nothing(option: str, script: Path) -> None:
    result = run("lint", "--file", str(script), "--fix", option)
    assert script.read_text() == FAULTY
    assert '+    "hbase.regionserver.handler.count": "60",   "zookeeper.session.timeout": "90000",' in result.stdout
    assert result.returncode == 3


def test_nothing_is_written_without_a_yes(script: Path) -> None:
    result = run("lint", "--file", str(script), "--fix")
    assert result.returncode == 2
    assert script.read_text() == FAULTY
    run("lint", "--file", str(script), "--fix", stdin="y\n")
    assert script.read_text() == MENDED


def test_a_diff_shows_no_secret(script: Path) -> None:
    result = run("lint", "--file", str(script), "--fix", "--dry-run")
    for secret in ("wJalrXUtnFEMI", "abcdefSECRET"):
        assert secret not in result.stdout + result.stderr
    assert '"fs.s3a.secret.key": "(not shown)"' in result.stdout


def test_a_misspelt_secret_is_not_shown_either(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    properties = {"fs.s3a.secert.key": "wJalrXUtnFEMI", "hbase.rpc.timeout": "60000"}
    file.write_text(json.dumps([{"Classification": "core-site", "Properties": properties}], indent=1))
    result = run("lint", "--file", str(file), "--release", "emr-7.12.0", "--fix", "--yes")
    assert "wJalr" not in result.stdout + result.stderr


def test_the_standard_input_is_corrected_on_the_standard_output() -> None:
    result = run("lint", "--file", "-", "--fix", stdin=FAULTY)
    assert result.stdout == MENDED
    assert "2 corrections" in result.stderr


def test_a_file_that_the_script_names_is_corrected(tmp_path: Path) -> None:
    script, named = tmp_path / "create.sh", tmp_path / "hbase.json"
    script.write_text("aws emr create-cluster --release-label emr-7.12.0 --configurations file://hbase.json\n")
    named.write_text('[{"Classification":"hbase-site","Properties":{"zookeeper.session.timeout":"90 s"}}]')
    before = script.read_text()
    run("lint", "--file", str(script), "--fix", "--yes")
    assert named.read_text() == '[{"Classification":"hbase-site","Properties":{"zookeeper.session.timeout":"90000"}}]'
    assert script.read_text() == before


def test_a_correction_that_reveals_a_fault_is_a_decision(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    text = '[{"Classification":"hbase-site","Properties":{"hbase.bucketcache.sise":"0.4"}}]'
    file.write_text(text)
    result = run("lint", "--file", str(file), "--release", "emr-7.12.0", "--fix", "--yes")
    assert file.read_text() == text
    assert "With this corrected, WB201 would report" in " ".join(result.stdout.split())


def test_terraform_is_not_written_and_the_page_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "main.tf"
    site = '{ Classification = "hbase-site", Properties = { "hbase.regionserver.handlers.count" = "60" } }'
    text = f'resource "aws_emr_cluster" "c" {{\n  configurations_json = jsonencode([{site}])\n}}\n'
    file.write_text(text)
    result = run("lint", "--file", str(file), "--release", "emr-7.12.0", "--fix", "--yes")
    page = " ".join(result.stdout.split())
    assert file.read_text() == text
    assert "--fix does not write Terraform. Change the values in the .tf file by hand" in page
    assert "did you mean hbase.regionserver.handler.count? Write hbase.regionserver.handler.count" in page


INVALID = [
    (("prod", "--fix"), "--fix needs --file"),
    (("--file", "x", "--dry-run"), "--dry-run needs --fix"),
    (("--file", "x", "--fix", "--output", "json"), "--fix prints a diff"),
]


@pytest.mark.parametrize(("arguments", "message"), INVALID)
def test_options_that_do_not_fit_end_with_2(arguments: tuple[str, ...], message: str) -> None:
    result = run("lint", *arguments)
    assert result.returncode == 2
    assert message in result.stderr


def test_json_has_the_edits() -> None:
    findings = json.loads(run("lint", "--file", "-", "--output", "json", stdin=FAULTY).stdout)["findings"]
    edits = {finding["property"]: finding["edit"] for finding in findings if finding["edit"]}
    assert edits == {
        "hbase.regionserver.handlers.count": {"action": "replace the key", "text": "hbase.regionserver.handler.count"},
        "zookeeper.session.timeout": {"action": "replace the value", "text": "90000"},
    }
