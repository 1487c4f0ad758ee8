"""The demo, as a user runs it. What `make demo` prints from its first step to its last is the README's test."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.demo import _remedy
from local_aws.server import is_healthy
from tests.command import PROCESS
from tests.patience import HANG_SECONDS, wait_until
from warmbase.app import synthesise
from warmbase.environments.reader import read_environment

PROJECT = Path(__file__).parents[2]


def demo(*arguments: str, directory: Path = PROJECT, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROCESS, "demo", *arguments],
        cwd=directory,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


def edited(directory: Path, old: str, new: str) -> Path:
    """Write environments/dev.yaml with one change to this directory."""
    text = (PROJECT / "environments/dev.yaml").read_text()
    assert old in text
    file = directory / "edited.yaml"
    file.write_text(text.replace(old, new, 1))
    return file


@pytest.mark.e2e
@pytest.mark.thorough
def test_two_demos_at_once_pass_and_a_local_aws_that_stays_serves_another(tmp_path: Path) -> None:
    """One of the demos in this checkout runs beside stand-ins for resources of the user."""
    named = edited(tmp_path, "name: dev", "name: named")
    text = named.read_text().replace("network: {", "network: {vpc: vpc-0a1b2c3d, subnet: subnet-0a1b2c3d, ")
    named.write_text(f"{text}storage: {{root: s3://our-data/hbase/}}\n")
    before = {path.name for path in PROJECT.iterdir()}
    with ThreadPoolExecutor(2) as beside:
        other = beside.submit(demo, str(named))
        first = demo("dev", "--keep")
    assert other.result().returncode == 0, other.result().stderr
    outcome = "vpc-0a1b2c3d, subnet-0a1b2c3d, our-data: each stands in for yours and exists only here"
    assert outcome in other.result().stderr
    assert {path.name for path in PROJECT.iterdir()} == before, "a demo leaves nothing in the checkout"
    assert first.returncode == 0, first.stderr
    variables = dict(re.findall(r"^  export (\w+)=(.*)$", first.stdout, flags=re.MULTILINE))
    process_id = int(re.findall(r"To end it: kill (\d+)", first.stdout)[0])
    try:
        assert variables["AWS_REGION"] == variables["AWS_DEFAULT_REGION"] == "us-east-1"
        assert is_healthy(variables["AWS_ENDPOINT_URL"])
        # On it, from another directory, an environment given by a path from there.
        file = edited(tmp_path, "name: dev", "name: other")
        again = demo(file.name, "--endpoint", variables["AWS_ENDPOINT_URL"], directory=tmp_path)
        assert again.returncode == 0, again.stderr
        assert f"use the local AWS at {variables['AWS_ENDPOINT_URL']} ..." in again.stderr
        assert f"cdk synth -c environment={file} ..." in again.stderr
        assert is_healthy(variables["AWS_ENDPOINT_URL"])
        pins_what_runs(tmp_path, variables)
    finally:
        os.kill(process_id, signal.SIGTERM)
    wait_until(lambda: not is_healthy(variables["AWS_ENDPOINT_URL"]))


def pins_what_runs(directory: Path, variables: dict[str, str]) -> None:
    """Check the launch record of the demo's cluster: another workload, release and zone change nothing of it."""
    file = directory / "dev.yaml"
    file.write_text((PROJECT / "environments/dev.yaml").read_text())
    assert warmbase("pin", str(file), "--cluster", "green", **variables).returncode == 2
    file.write_text(file.read_text() + "storage: {root: s3://our-data/hbase/}\n")
    elsewhere = warmbase("pin", str(file), **variables)
    assert elsewhere.returncode == 3
    assert "root: expected 's3://our-data/hbase/', EMR has 's3://warmbase-dev-root-" in elsewhere.stderr
    file.write_text((PROJECT / "environments/dev.yaml").read_text().replace("name: dev", "name: nobody"))
    nobody = warmbase("pin", str(file), **variables)
    assert nobody.returncode == 1
    assert "could not read the stacks and the cluster of nobody in us-east-1" in nobody.stderr
    file.write_text((PROJECT / "environments/dev.yaml").read_text())
    missing = warmbase("pin", str(file), "--check", **variables)
    assert missing.returncode == 3, missing.stderr
    assert "there is no record; cluster j-" in missing.stderr
    written = warmbase("pin", str(file), **variables)
    assert written.returncode == 0, written.stderr
    assert re.match(r"blue: j-\w+, launched at \S+; EMR confirms \d\d facts\n", written.stdout)
    assert warmbase("pin", str(file), "--check", **variables).returncode == 0
    for what in ("launch", "live"):
        compared = warmbase("diff", str(file), "--against", what, **variables)
        assert " ".join(compared.stdout.split()).endswith("no difference"), compared.stderr
    synthesise(str(file), str(directory / "launched"))
    text = file.read_text().replace("200 GiB", "2 TiB").replace("7.14", "7.13").replace("us-east-1a", "us-east-1b")
    file.write_text(text)
    assert "records a running cluster, and the demo deployed that cluster" in _remedy(read_environment(str(file)))
    synthesise(str(file), str(directory / "edited"))
    name = "warmbase-dev-blue-cluster.template.json"
    assert (directory / "edited" / name).read_text() == (directory / "launched" / name).read_text()


def warmbase(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROCESS, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


# Where pytest was started with SIGINT ignored, as in the background of a script, the demo would inherit that.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from warmbase.cli.main import main
main()
"""


@pytest.mark.e2e
@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_local_aws_and_removes_what_was_written(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTIBLE, "demo", "dev", "--keep"]
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=PROJECT, env=variables, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        output = ""
        while "http://127.0.0.1:" not in output:
            line = running.stderr.readline()
            assert line, output
            output += line
        assert list(tmp_path.glob("warmbase-demo-*"))
        time.sleep(1)
        running.send_signal(number)
        output += running.stderr.read()
    assert running.returncode == 128 + number
    assert output.endswith(f"warmbase: ended by {number.name}\n")
    assert not list(tmp_path.glob("warmbase-demo-*"))
    [endpoint] = re.findall(r"http://127\.0\.0\.1:\d+", output)
    assert not is_healthy(endpoint)


def test_demo_refuses_an_endpoint_that_is_not_on_this_machine() -> None:
    process = demo("dev", "--endpoint", "https://elasticmapreduce.us-east-1.amazonaws.com")
    assert process.returncode == 2
    assert "is not on this machine" in process.stderr
    assert process.stdout == ""


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "http://127.0.0.1:99999"])
def test_demo_looks_for_the_local_aws_before_anything_else(endpoint: str) -> None:
    process = demo("dev", "--endpoint", endpoint)
    assert process.returncode == 2
    assert process.stderr.startswith(f"{endpoint}  no local AWS\n")


def test_demo_refuses_another_account(tmp_path: Path) -> None:
    process = demo(str(edited(tmp_path, "name: dev", "name: dev\naccount: '210987654321'")))
    assert process.returncode == 2
    assert f"{tmp_path}/edited.yaml:4  account\n  the local AWS has one account, 123456789012;" in process.stderr
    assert "fix:" in process.stderr
    assert "cdk" not in process.stderr


def test_demo_never_deploys_what_misses_its_targets(tmp_path: Path) -> None:
    process = demo(str(edited(tmp_path, "targets: {", "targets: {budget_usd_per_month: 1, ")))
    assert process.returncode == 3
    assert "no cluster meets the targets" in process.stderr
    assert "cdk" not in process.stderr


def test_demo_of_a_faulty_environment_starts_nothing(tmp_path: Path) -> None:
    file = tmp_path / "faulty.yaml"
    file.write_text("name: Faulty\n")
    process = demo(str(file))
    assert process.returncode == 2
    assert "cdk" not in process.stderr
