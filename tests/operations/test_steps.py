"""Scripts of steps on a primary node answer correctly beside stand-ins of `hbase` and `hdfs`, also when those fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.hostile import EVALUATED, TRACE, UNSTOPPABLE
from tests.patience import HANG_SECONDS
from warmbase.configurations.launch import launch_of
from warmbase.configurations.table_ddl import planned_tables
from warmbase.environments.reader import read_environment
from warmbase.ground.units import MIB
from warmbase.operations.aws.node_command import DIRECTORY, LONGEST_ARGUMENT, script

STAND_INS = Path(__file__).parents[2] / "local_aws" / "emr" / "stand-ins"
PROD = read_environment("prod")
NAMES = sorted(file.stem for file in DIRECTORY.glob("*.sh") if file.stem not in {"shared", "program"})


def run(
    directory: Path, name: str, state: str, *arguments: str, lost: int = 0, keytab: Path | None = None
) -> tuple[int, Any, str]:
    """Return status, answer and stderr of a script; in state `gone`, every HBase command fails.

    The first `lost` of its questions to ZooKeeper are not answered. What `hbase` got is in stubs/record, and what the
    HBase shell read in stubs/ruby.
    """
    stubs = directory / "stubs"
    stubs.mkdir()
    for stub in STAND_INS.iterdir():
        (stubs / stub.name).write_text("#!/bin/sh\nexit 1\n" if state == "gone" else stub.read_text())
    (stubs / "aws").write_text(
        "#!/bin/sh\n"
        f'if [ "$*" = "s3 cp --only-show-errors - s3://logs/answer" ]; then exec cat >{directory}/answer; fi\n'
        f'[ "$1" = emr ] && printf %s "{FORGOTTEN}" >&2; exit 254\n'
    )
    (stubs / "hbase").rename(stubs / "hbase-in-state")
    (stubs / "hbase").write_text(LOSSY.format(lost=lost, stubs=stubs))
    (stubs / "sleep").write_text("#!/bin/sh\n")
    for program_name, program in PROGRAMS_OF_KERBEROS.items():
        (stubs / program_name).write_text(program.format(stubs=stubs))
    for stub in stubs.iterdir():
        stub.chmod(0o755)
    # The path of EMR's own script exists only on a node.
    text = script(name).replace("/usr/lib/hbase/bin", str(stubs))
    text = text.replace("/etc/hbase.keytab", str(keytab or directory / "no-keytab"))
    process = subprocess.run(
        ["bash", "-c", text, name, "s3://logs/answer", *arguments],
        env={
            "PATH": f"{stubs}:{os.environ['PATH']}",
            "STATE": state,
            "TMPDIR": str(directory),
            "SIMULATED": str(STAND_INS.parent / "simulated_hbase.py"),
        },
        capture_output=True,
        cwd=directory,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    answer = directory / "answer"
    return process.returncode, json.loads(answer.read_text()) if answer.exists() else None, process.stderr


# A ticket is asked for as root, and HBase's commands see the cache that has it.
PROGRAMS_OF_KERBEROS = {
    "sudo": '#!/bin/sh\nROOT=yes exec "$@"\n',
    "hostname": '#!/bin/sh\n[ "$1" = -f ] && echo primary.internal\n',
    "kinit": '#!/bin/sh\n[ -s "$3" ] && [ "$ROOT" = yes ] || exit 1\n'
    'echo "$6" >"${{5#FILE:}}"; echo "$*" >{stubs}/kinits\n',
}
LOSSY = """#!/bin/sh
if [ -n "$KRB5CCNAME" ]; then cat "${{KRB5CCNAME#FILE:}}" >>{stubs}/tickets; fi
if [ "$1" = zkcli ]; then
  echo "$3" >>{stubs}/questions
  if [ "$(wc -l <{stubs}/questions)" -le {lost} ]; then echo "KeeperErrorCode = ConnectionLoss for $3"; exit; fi
fi
printf '%s\\0' "$@" "$ARGUMENTS" "$TABLE" >>{stubs}/record
if [ "$1" = shell ]; then tee -a {stubs}/ruby | {stubs}/hbase-in-state "$@"; exit; fi
exec {stubs}/hbase-in-state "$@"
"""
WALS = "hdfs://stand-in:8020/user/hbase/WALs"
SERVERS = ["stand-in-1,16020,1762500000000", "stand-in-2,16020,1762500000001"]
FORGOTTEN = "An error occurred (InvalidRequestException): Cluster id 'j-0000000000000' is not valid."
REGION = "7cb60beb87215d04c7a1f4dd897b4861"
CASES = [
    ("disable-tables", "well", (), {"tables": ["stand-in-users", "stand_in:events"], "enabled": []}),
    ("disable-tables", "enabled", (), {"tables": ["stand-in-users", "stand_in:events"], "enabled": ["stand-in-users"]}),
    ("disable-tables", "down", (), {"down": True}),
    ("flush-meta", "down", (), {"down": True}),
    ("stop-hbase", "down", ("0",), {"servers": [], "returned": False}),
    ("stop-hbase", "well", ("0", "only-wait"), {"servers": SERVERS, "returned": False}),
    ("flush-meta", "well", (), {"flushed": ["hbase:meta", "hbase:namespace"]}),
    ("stop-hbase", "well", ("0",), {"servers": [], "returned": False}),
    ("stop-hbase", "servers", ("0",), {"servers": SERVERS, "returned": False}),
    ("inspect-wals", "well", (), {"directory": WALS, "files": [], "down": False}),
    ("inspect-wals", "down", (), {"directory": WALS, "files": [], "down": True}),
    (
        "inspect-wals",
        "wal",
        (),
        {"directory": WALS, "files": [f"{WALS}/{SERVERS[0]}/stand-in-1%2C16020.1"], "down": False},
    ),
    ("control-regions", "well", ("balancer", "off"), {"was_on": True}),
    ("control-regions", "well", ("reopen", "stand-in-users"), {"reopened": ["stand-in-users"]}),
    ("control-regions", "away", ("move", "0", f"{REGION}@stand-in-2:16020"), {"moved": [REGION]}),
    ("write-table", "well", ("canary",), {"table": "canary"}),
    ("compact-regions", "well", ("compact", REGION), {"compacted": [REGION]}),
    ("change-tables", "well", ("change", "stand-in-users", "cf:BLOCKSIZE=8192"), {"changed": "stand-in-users"}),
    ("change-tables", "well", ("change", "stand-in-users", "my cf:BLOCKSIZE=8192"), {"changed": "stand-in-users"}),
    (
        "change-tables",
        "well",
        ("reopen-region", REGION),
        {"reopened": REGION, "server": "stand-in-1:16020"},
    ),
    (
        "heal-locality",
        "well",
        ("locality",),
        {
            "servers": {
                f"stand-in-{number}:16020": {
                    "bytes": 4 * 512 * MIB,
                    "local_bytes": 4 * 512 * MIB,
                    "moves": 0,
                    "moved_bytes": 0,
                    "sent_bytes": 0,
                }
                for number in (1, 2)
            },
            "in_transition": 0,
            "bandwidth": 100 * MIB,
        },
    ),
    ("inspect-primary", "well", ("/nowhere",), {"master_caches": None, "forgotten": FORGOTTEN}),
    ("verify-export", "well", ("s3://our-backups/hbase/",), {"missing": [], "stale": []}),
    ("verify-export", "unexported", ("s3://our-backups/hbase/",), {"missing": ["stand_in:events"], "stale": []}),
    ("verify-export", "stale", ("s3://our-backups/hbase/",), {"missing": [], "stale": ["stand-in-users"]}),
    (
        "verify-export",
        "broken",
        ("s3://our-backups/hbase/",),
        {"missing": ["stand-in-users", "stand_in:events"], "stale": []},
    ),
]


@pytest.mark.parametrize(("name", "state", "arguments", "expected"), CASES)
def test_each_script_answers_the_state(
    name: str, state: str, arguments: tuple[str, ...], expected: object, tmp_path: Path
) -> None:
    status, answer, stderr = run(tmp_path, name, state, *arguments)
    assert (status, answer) == (0, expected), stderr


@pytest.mark.parametrize("name", sorted({*NAMES} - {"inspect-primary"}))
def test_each_script_fails_with_a_reason(name: str, tmp_path: Path) -> None:
    status, answer, stderr = run(tmp_path, name, "gone", "0")
    assert status != 0, stderr
    assert answer is None or "error" in answer


def test_regions_are_read_from_between_the_lines_of_the_shell(tmp_path: Path) -> None:
    status, answer, stderr = run(tmp_path, "control-regions", "moved", "state")
    assert status == 0, stderr
    assert (answer["in_transition"], answer["balancer_is_on"]) == (0, True)
    assert answer["servers"] == {"stand-in-1:16020": 1762500000000, "stand-in-2:16020": 1762500000001}
    assert [region["table"] for region in answer["regions"].values() if region["moved"]] == ["stand-in-users"]


def test_store_files_are_those_of_every_region_of_a_user_table(tmp_path: Path) -> None:
    status, answer, stderr = run(tmp_path, "compact-regions", "well", "stored")
    assert status == 0, stderr
    assert {(region["table"], region["server"], region["files"]) for region in answer.values()} == {
        (table, server, 3)
        for table in ("stand-in-users", "stand_in:events")
        for server in ("stand-in-1:16020", "stand-in-2:16020")
    }


def test_each_open_region_of_a_user_table_has_its_store_files(tmp_path: Path) -> None:
    status, answer, stderr = run(tmp_path, "control-regions", "well", "files")
    assert status == 0, stderr
    assert len(answer) == 8
    assert {len(files) for files in answer.values()} == {1}


def test_each_family_has_the_attributes_that_a_plan_decides(tmp_path: Path) -> None:
    status, answer, stderr = run(tmp_path, "change-tables", "well", "families")
    assert status == 0, stderr
    [planned] = planned_tables(launch_of(PROD, PROD.active))[0].families
    assert {name: families["cf"].keys() for name, families in answer["tables"].items()} == dict.fromkeys(
        ("stand-in-users", "stand_in:events"), planned.attributes.keys()
    )


@pytest.mark.parametrize("lost", [1, 2])
def test_a_lost_connection_to_zookeeper_does_not_change_the_answer(lost: int, tmp_path: Path) -> None:
    status, answer, stderr = run(tmp_path, "disable-tables", "down", lost=lost)
    assert (status, answer) == (0, {"down": True}), stderr


def test_a_silent_zookeeper_is_asked_three_times_and_then_named(tmp_path: Path) -> None:
    status, answer, _ = run(tmp_path, "inspect-wals", "down", lost=99)
    assert (status, answer) == (1, {"error": "ZooKeeper did not answer whether HBase is down"})
    # Three times for `stopped`, and three times for the question whether that was an answer.
    assert (tmp_path / "stubs" / "questions").read_text().split() == 6 * ["/hbase/rs"]


@pytest.mark.parametrize("name", NAMES)
def test_each_script_fits_in_one_argument_of_a_step(name: str) -> None:
    assert len(script(name)) < LONGEST_ARGUMENT
    assert "source " not in script(name).replace("shellcheck source", "")


@pytest.mark.parametrize("name", ["disable-tables", "flush-meta", "inspect-wals"])
def test_with_a_keytab_every_command_has_a_ticket_that_the_script_removes(name: str, tmp_path: Path) -> None:
    (keytab := tmp_path / "hbase.keytab").write_text("keys")
    expected = next(answer for case, state, _, answer in CASES if (case, state) == (name, "well"))
    status, answer, stderr = run(tmp_path, name, "well", keytab=keytab)
    assert (status, answer) == (0, expected), stderr
    tickets = (tmp_path / "stubs" / "tickets").read_text().split()
    assert len(tickets) >= 2
    assert set(tickets) == {"hbase/primary.internal"}
    cache = (tmp_path / "stubs" / "kinits").read_text().split()[4].removeprefix("FILE:")
    assert not Path(cache).parent.exists()


def test_a_keytab_without_a_ticket_ends_the_step_with_the_reason(tmp_path: Path) -> None:
    (keytab := tmp_path / "hbase.keytab").touch()
    status, answer, _ = run(tmp_path, "flush-meta", "well", keytab=keytab)
    assert (status, answer) == (1, {"error": f"{keytab} gave no ticket for HBase's user"})


def test_every_script_has_a_case() -> None:
    assert {name for name, *_ in CASES} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_argument_of_a_step_is_data_whatever_is_in_it(name: str, tmp_path: Path) -> None:
    """Where a plain word reaches a command, so does any other, whole; none reaches the text of a Ruby program."""
    records = []
    for number, words in enumerate((("firstly", "thirdly"), (UNSTOPPABLE, EVALUATED), (EVALUATED, UNSTOPPABLE))):
        (directory := tmp_path / str(number)).mkdir()
        run(directory, name, "well", *words)
        ruby, record = (directory / "stubs" / file for file in ("ruby", "record"))
        assert not ruby.exists() or not any(word in ruby.read_text() for word in words)
        text = record.read_bytes().decode() if record.exists() else ""
        for place, word in enumerate(words):
            text = text.replace(word, str(place)).replace(json.dumps(word)[1:-1], str(place))
        records.append(text)
        assert not list(directory.rglob(TRACE))
    assert records[0] == records[1] == records[2]


@pytest.mark.parametrize("name", sorted(file.stem for file in DIRECTORY.glob("*.sh")))
def test_no_step_writes_a_value_into_a_command(name: str) -> None:
    """HBase names what a step lists, so an answer of HBase is no safer than an argument."""
    text = (DIRECTORY / f"{name}.sh").read_text()
    assert not re.search(r'shell "(?!\$\(program\)")[^"]*\$', text), "a command is Ruby: it reads ENV"
    assert "SC2086" not in text, "a word without quotes is split, and may be a pattern of files"
    assert not re.search(r"\beval\b|<<-?\w", text)
