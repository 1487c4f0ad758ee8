"""What the other actions leave: kernel settings as their tools read them, and the timer that publishes."""

from __future__ import annotations

import re
import shutil

import pytest

from configurations.bootstrap import program, script
from tests.bootstrap_actions.node import Node
from tests.bootstrap_actions.test_actions import GIVEN, changed

SYSCTL = "/etc/sysctl.d/90-warmbase.conf"
SERVICE = "/etc/systemd/system/warmbase-cache-metrics.service"
TIMER = "/etc/systemd/system/warmbase-cache-metrics.timer"


def test_kernel_settings_have_a_reason_each_and_are_applied(core_node: Node) -> None:
    node = core_node
    for tool in ("sysctl", "systemd-tmpfiles"):
        node.write(f"/stubs/{tool}", f'#!/bin/sh\necho "{tool} $@" >>/calls\n', mode=0o755)
    node.write("/action.sh", script("tune-kernel"), mode=0o755)
    answer = node.run("/action.sh", *GIVEN["tune-kernel"])
    assert answer.returncode == 0, answer.stderr
    assert node.read("/calls").splitlines() == [
        "sysctl --quiet --load /etc/sysctl.d/90-warmbase.conf",
        "systemd-tmpfiles --create /etc/tmpfiles.d/warmbase.conf",
    ]
    lines = node.read(SYSCTL).splitlines()
    settings = dict(line.split(" = ") for line in lines if not line.startswith("#"))
    assert all(value.isdecimal() for value in settings.values())
    assert settings["vm.max_map_count"] == "1048576"
    assert int(settings["vm.dirty_bytes"]) == 1024 << 20
    assert int(settings["vm.dirty_background_bytes"]) * 4 == int(settings["vm.dirty_bytes"])
    reasons = [number for number, line in enumerate(lines) if line.startswith("#")]
    told = {lines[number].split(" = ")[0]: any(number - at in (1, 2) for at in reasons) for number in range(len(lines))}
    assert all(told[name] for name in settings), "a setting stands right under its reason, or under one that shares it"
    assert all((node.root / "proc/sys" / name.replace(".", "/")).exists() for name in settings)
    huge = [line.split() for line in node.read("/etc/tmpfiles.d/warmbase.conf").splitlines() if line.startswith("w ")]
    assert {each[1].rpartition("/")[2]: each[-1] for each in huge} == {
        "enabled": "madvise",
        "defrag": "madvise",
        "shmem_enabled": "advise",
    }
    assert node.read("/etc/security/limits.d/zz-warmbase.conf").splitlines()[-2:] == [
        "hbase - nofile 131072",
        "hbase - nproc 65536",
    ]


def test_the_timer_and_its_service_are_accepted_and_the_program_starts(core_node: Node) -> None:
    node = core_node
    node.write("/stubs/systemctl", '#!/bin/sh\necho "$@" >>/calls\n', mode=0o755)
    node.write("/action.sh", script("publish-cache-metrics"), mode=0o755)
    fetched = []
    for argument, name in (("program", "publish_cache_metrics.py"), ("requests", "role_requests.py")):
        url, digest = node.upload(name, program(name).read_bytes())
        fetched += [f"--{argument}={url}", f"--{argument}-sha256={digest}"]
    answer = node.run("/action.sh", *changed("publish-cache-metrics", *fetched))
    assert answer.returncode == 0, answer.stderr
    assert "enable --now --quiet warmbase-cache-metrics.timer" in node.read("/calls")
    again = node.run("/action.sh", *changed("publish-cache-metrics", *fetched))
    assert again.stderr.count("is as it should be") == 4
    [started] = re.findall(r"^ExecStart=(.*)$", node.read(SERVICE), flags=re.MULTILINE)
    ran = node.run(*started.split(), "--metadata=http://127.0.0.1:1", "--region-server=http://127.0.0.1:1")
    assert ran.returncode == 1
    assert "the RegionServer at http://127.0.0.1:1 does not answer" in ran.stderr
    assert "nothing was published" in ran.stderr
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze to check the units; the rest passed")
    assert "warmbase" not in node.run("systemd-analyze", "verify", TIMER).stderr
    node.write(TIMER, f"{node.read(TIMER)}Misspelt=1\n")
    assert "Misspelt" in node.run("systemd-analyze", "verify", TIMER).stderr
