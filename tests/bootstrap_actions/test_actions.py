"""Laws of every bootstrap action: one file by itself, all arguments checked at once, a half run completed."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import warmbase.engines.trino.rendering as of_trino
from tests.configurations.engines.trino.launches import PINNED, trino_launch
from tests.configurations.variants import Variant, variant_launch
from tests.hostile import EVALUATED, TRACE, UNSTOPPABLE
from tests.patience import HANG_SECONDS
from tests.sizing.engines.trino.questions import CHOICE
from warmbase.configurations.bootstrap import DIRECTORY, Action, actions, encoded, program, script
from warmbase.configurations.launch import Launch
from warmbase.configurations.node_files import exported
from warmbase.engines.trino.request import TrinoChoice
from warmbase.environments.names import CANARY_TAG
from warmbase.sizing.modes import HDFS, S3_PLAIN, Mode

NAMES = sorted(file.stem for file in DIRECTORY.glob("*.sh") if file.read_text().startswith("#!"))
DIGEST = "0" * 64
PROGRAM = ("--program=s3://bucket/key.py", f"--program-sha256={DIGEST}")
REQUESTS = ("--requests=s3://bucket/key.py", f"--requests-sha256={DIGEST}")
LIMITS = ("--open-files=131072", "--processes=65536")
GIVEN = {
    "claim-root": ("--bucket=my-bucket", "--key=hbase.warmbase-claim", *PROGRAM, *REQUESTS),
    "guard-regionserver": (
        "--cache-volume-gib=1",
        "--cache-mib=512",
        "--index-mib=8",
        "--index-format=chunked",
        "--cache-file=/warmbase/cache/bucketcache/blocks",
        "--index-file=/warmbase/cache/index/bucketcache.index",
        "--start-seconds=300",
        "--stop-seconds=1300",
        *LIMITS,
        *PROGRAM,
    ),
    "guard-trino-worker": (
        "--cache-directories=/warmbase/cache/trino",
        "--cache-gib=1",
        "--spill-directory=/warmbase/system/trino-spill",
        "--catalog=hive",
        "--start-seconds=300",
        *LIMITS,
        *PROGRAM,
    ),
    "harvest-node": ("--log-bucket=our-logs",),
    "mount-volumes": ("--cache-volume-gib=1", "--system-volume-gib=2"),
    "prepare-java": ("--java-home=/usr/lib/jvm/jre-21", f"--flags={encoded(('-XX:+UseZGC', '-Xmx64m'))}"),
    "publish-cache-metrics": ("--misses-for-one=2", *PROGRAM, *REQUESTS),
    "publish-trino-metrics": ("--catalog=hive", "--least-hit-rate=0.75", *PROGRAM, *REQUESTS),
    "start-agent": (),
    "tune-kernel": LIMITS,
    "watch-claim": (
        "--bucket=my-bucket",
        "--key=hbase.warmbase-claim",
        "--role=active",
        "--fencing=stop",
        *PROGRAM,
        *REQUESTS,
    ),
}
TRINO_NAMES = {"guard-trino-worker", "publish-trino-metrics"}
WRONG = [
    ("mount-volumes", "--cache-volume-gib=1TiB", "--cache-volume-gib='1TiB': must be a whole number of GiB"),
    ("mount-volumes", "--cache-volume-gib=0", "--cache-volume-gib='0': must be a whole number of GiB from 1 to 65536"),
    ("mount-volumes", "--cache-volume-gib=99999999999999999999", "must be a whole number of GiB"),
    ("mount-volumes", "--system-volume-gib=1", "--cache-volume-gib and --system-volume-gib are equal"),
    ("mount-volumes", "--data-volume-gib=2", "--data-volume-gib and --system-volume-gib are equal"),
    ("mount-volumes", "--data-volume-gib=1", "--cache-volume-gib and --data-volume-gib are equal"),
    ("mount-volumes", "--data-volume-gib=3", "--data-volumes='': must be a whole number of disks from 1 to 24"),
    ("mount-volumes", "--data-volumes=3", "--data-volume-gib='': must be a whole number of GiB"),
    ("guard-regionserver", "--cache-mib=08", "--cache-mib='08': must be a whole number of MiB"),
    ("guard-regionserver", "--cache-mib=-1", "--cache-mib='-1': must be"),
    ("guard-regionserver", "--cache-mib=16777217", "--cache-mib='16777217': must be"),
    ("mount-volumes", "--cache-volumes=25", "--cache-volumes='25': must be a whole number of disks from 1 to 24"),
    (
        "guard-regionserver",
        "--cache-file=/warmbase/cache/a/1,/warmbase/cache2/a/1",
        "--cache-file='/warmbase/cache2/a/1': must be a file in",
    ),
    (
        "guard-regionserver",
        "--cache-file=/warmbase/cache/index/bucketcache.index,/warmbase/cache-2/a/1",
        "are the same path",
    ),
    ("guard-regionserver", "--cache-mib=1009", "is 1025 MiB, the volume 1024 MiB: plan a smaller cache"),
    ("guard-regionserver", "--index-format=newest", "--index-format='newest': must be chunked or streamed"),
    ("guard-regionserver", "--stop-seconds=2m", "--stop-seconds='2m': must be a whole number of seconds"),
    ("guard-regionserver", "--open-files=1024", "must be a whole number of descriptors from 65536"),
    ("guard-regionserver", "--cache-file=/mnt/cache/file", "--cache-file='/mnt/cache/file': must be a file in"),
    ("guard-regionserver", "--cache-file=/warmbase/cache/file", "must be a file in a directory under /warmbase/cache"),
    ("guard-regionserver", "--index-file=/warmbase/cache/../../etc/passwd", "must be a file in a directory"),
    ("guard-regionserver", "--index-file=/warmbase/cache/a/%h", "must be a file in a directory"),
    ("guard-regionserver", "--index-file=/warmbase/cache/bucketcache/blocks", "are the same path"),
    ("guard-regionserver", "--program=https://a/b", "--program='https://a/b': must be an object, s3://BUCKET/KEY"),
    ("guard-regionserver", "--program-sha256=abc", "--program-sha256='abc': must be its SHA-256"),
    ("claim-root", "--bucket=My_Bucket", "--bucket='My_Bucket': must be a bucket's name"),
    ("claim-root", "--key=a b", "--key='a b': must be an object's key"),
    ("prepare-java", "--java-home=jre", "--java-home='jre': must be a full path"),
    ("prepare-java", "--flags=$(reboot)", "--flags='$(reboot)': must be a JSON list of a JVM's flags, in Base64"),
    ("prepare-java", f"--flags={encoded(('',))}", "must be a JSON list of a JVM's flags"),
    ("prepare-java", f"--flags={encoded(())}", "must be a JSON list of a JVM's flags"),
    ("publish-cache-metrics", "--misses-for-one=3", "must be a whole number of counts from 1 to 2"),
    ("guard-trino-worker", "--cache-directories=/mnt/trino", "'/mnt/trino': must be a directory on a cache volume"),
    ("guard-trino-worker", "--cache-directories=/warmbase/cache/trino,/warmbase/cache", "'/warmbase/cache': must be"),
    ("guard-trino-worker", "--cache-directories=/warmbase/cache/%h", "'/warmbase/cache/%h': must be"),
    (
        "guard-trino-worker",
        "--spill-directory=/warmbase/system/../../tmp",
        "must be a directory under /warmbase/system",
    ),
    ("guard-trino-worker", "--catalog=../hive", "--catalog='../hive': must be a catalog's name"),
    ("guard-trino-worker", "--cache-gib=1.5", "--cache-gib='1.5': must be a whole number of GiB"),
    ("publish-trino-metrics", "--catalog=hive %h", "--catalog='hive %h': must be a catalog's name"),
    ("publish-trino-metrics", "--least-hit-rate=75", "--least-hit-rate='75': must be a fraction"),
    ("watch-claim", "--bucket=My_Bucket", "--bucket='My_Bucket': must be a bucket's name"),
    ("watch-claim", "--role=blue", "--role='blue': must be active or replica"),
    ("watch-claim", "--fencing=kill", "--fencing='kill': must be alarm or stop"),
    ("tune-kernel", "--user=a b", "--user='a b': must be a user's name in small letters"),
    ("tune-kernel", "--dirty-mib=1", "--dirty-mib='1': must be a whole number of MiB from 64"),
]


@pytest.fixture
def alone(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs an action as EMR fetches it: one file, nothing beside it."""

    def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / f"{name}.sh"
        file.write_text(script(name), encoding="utf-8")
        return subprocess.run(
            ["bash", str(file), *arguments], capture_output=True, text=True, check=False, timeout=HANG_SECONDS
        )

    return run


def changed(name: str, *changes: str) -> list[str]:
    replaced = {change.partition("=")[0] for change in changes}
    return [*(each for each in GIVEN[name] if each.partition("=")[0] not in replaced), *changes]


def test_these_are_all() -> None:
    assert sorted(GIVEN) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_action_needs_no_other_file_and_fits_on_a_few_pages(name: str) -> None:
    assert not re.search(r"^source ", script(name), re.MULTILINE)
    assert script(name).startswith("#!/usr/bin/env bash\n")
    assert len((DIRECTORY / f"{name}.sh").read_text().splitlines()) < 150


@pytest.mark.parametrize("name", NAMES)
def test_help_names_every_argument(name: str, alone: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    answer = alone(name, "--help")
    assert answer.returncode == 0, answer.stderr
    for argument in GIVEN[name]:
        assert argument.partition("=")[0] in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 120


@pytest.mark.parametrize(("name", "change", "message"), WRONG)
def test_wrong_arguments_are_refused(
    name: str, change: str, message: str, alone: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    answer = alone(name, *changed(name, change))
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.startswith(f"{name}: ")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--colour=blue", "--colour=blue: unknown argument; see --help"),
        ("--cache_mib=1", "--cache_mib=1: unknown argument"),
        ("--a[$(touch /nowhere/x)]=1", "unknown argument"),
        ("--colour", "--colour: unknown argument"),
    ],
)
def test_unknown_arguments_are_refused(
    name: str, argument: str, message: str, alone: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    answer = alone(name, *GIVEN[name], argument)
    assert answer.returncode == 2
    assert message in answer.stderr


@pytest.mark.parametrize("name", [name for name in NAMES if GIVEN[name]])
def test_every_wrong_argument_is_named_at_once(
    name: str, alone: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    twice = alone(name, *GIVEN[name], GIVEN[name][0])
    assert twice.returncode == 2
    assert "given twice" in twice.stderr
    none = alone(name)
    assert none.returncode == 2
    # Of the volumes only that of the system is always there.
    assert len(none.stderr.splitlines()) >= (1 if name in {"mount-volumes", "harvest-node"} else 2)


@pytest.mark.parametrize("environment", ["dev", "prod", "published-emr"])
def test_what_is_planned_is_taken(
    environment: str, launches: Callable[[str], Launch], alone: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    planned = actions(launches(environment))
    assert {action.name for action in planned} | TRINO_NAMES | {"harvest-node"} == set(NAMES)
    assert "harvest-node" not in {action.name for action in planned}, "only a canary's nodes are harvested"
    assert_accepted(planned, alone)


def test_a_canary_is_harvested_before_it_can_be_refused(
    launches: Callable[[str], Launch], alone: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    launch = launches("dev")
    tagged = replace(launch, environment=replace(launch.environment, tags={CANARY_TAG: "dev-canary"}))
    assert [action.name for action in actions(tagged)][:2] == ["harvest-node", "claim-root"]
    assert_accepted(actions(tagged), alone)


@pytest.mark.parametrize("choice", [CHOICE, PINNED], ids=["one volume", "three volumes"])
def test_what_is_planned_for_analytics_is_taken(
    choice: TrinoChoice, alone: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    planned = of_trino.actions(trino_launch(choice))
    assert {action.name for action in planned} == {"start-agent", "tune-kernel", "mount-volumes", *TRINO_NAMES}
    assert_accepted(planned, alone)


@pytest.mark.parametrize("mode", [S3_PLAIN, HDFS])
def test_what_is_planned_without_a_cache_is_taken(
    mode: Mode, alone: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    assert_accepted(actions(variant_launch(Variant(mode))), alone)


def assert_accepted(planned: tuple[Action, ...], alone: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Its own arguments, with one that is wrong at the end: nothing else is complained of."""
    for action in planned:
        fetched = (
            text
            for argument, name in action.programs.items()
            for text in (f"--{argument}=s3://bucket/{name}", f"--{argument}-sha256={DIGEST}")
        )
        arguments = (each.replace("${AWS::AccountId}", "123456789012") for each in action.arguments)
        answer = alone(action.name, *arguments, *fetched, "--wrong=1")
        assert answer.stderr == f"{action.name}: --wrong=1: unknown argument; see --help\n"
        assert len({*action.arguments}) == len(action.arguments)
        assert all(program(name).exists() for name in action.programs.values())


@pytest.mark.parametrize("environment", ["dev", "prod", "published-emr"])
def test_systemd_kills_after_hbase_and_hbase_after_the_index_is_written(
    environment: str, launches: Callable[[str], Launch]
) -> None:
    launch = launches(environment)
    [guard] = [action for action in actions(launch) if action.name == "guard-regionserver"]
    [systemd_seconds] = [
        int(argument.partition("=")[2]) for argument in guard.arguments if argument.startswith("--stop-seconds=")
    ]
    hbase_seconds = int(exported(launch.settings.core)["HBASE_STOP_TIMEOUT"])
    assert systemd_seconds >= hbase_seconds + 60
    assert hbase_seconds >= 1_200 + launch.plan.persistence.dump_seconds


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [UNSTOPPABLE, EVALUATED, "../x y"])
def test_an_action_refuses_every_argument_that_is_more_than_a_plain_word(name: str, value: str, tmp_path: Path) -> None:
    declared = re.search(r"^argument=\((.*?)\)$", text := script(name), re.MULTILINE | re.DOTALL)
    options = [key.replace("_", "-") for key in re.findall(r"\[(\w+)\]=", declared[1] if declared else "")]
    (file := tmp_path / "action.sh").write_text(text)
    process = subprocess.run(
        # An argument that no action has ends each of them before it changes this machine.
        ["bash", str(file), "--nothing=1", *(f"--{option}={value}" for option in options)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert process.returncode == 2, process.stderr
    assert [option for option in options if f"--{option}='" not in process.stderr] == []
    assert not list(tmp_path.rglob(TRACE))
