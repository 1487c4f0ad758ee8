"""The bootstrap actions of an analytics cluster agree with its classifications."""

from __future__ import annotations

import pytest

from tests.configurations.engines.trino.launches import PINNED, trino_launch
from tests.sizing.engines.trino.questions import CHOICE
from warmbase.configurations.bootstrap import lasting_arguments
from warmbase.emr.cluster_spec import flattened
from warmbase.engines.trino.rendering import actions
from warmbase.engines.trino.request import TrinoChoice


def arguments(choice: TrinoChoice, action: str) -> dict[str, str]:
    """Return the arguments of an action, by name."""
    [found] = [planned for planned in actions(trino_launch(choice)) if planned.name == action]
    return dict(argument.removeprefix("--").split("=", 1) for argument in found.arguments)


@pytest.mark.parametrize("choice", [CHOICE, PINNED], ids=["one volume", "three volumes"])
def test_the_guard_has_the_directories_and_the_sizes_of_the_catalog(choice: TrinoChoice) -> None:
    properties = {
        key: value
        for classification in trino_launch(choice).settings.core
        for key, value in classification.properties.items()
    }
    guard = arguments(choice, "guard-trino-worker")
    directories = guard["cache-directories"].split(",")
    assert properties["fs.cache.directories"].split(",") == directories
    assert properties["fs.cache.max-sizes"].split(",") == [f"{guard['cache-gib']}GB"] * len(directories)
    assert properties["spiller-spill-path"] == guard["spill-directory"]
    assert guard["start-seconds"] == "600"


def test_workers_tell_their_volumes_apart_by_size() -> None:
    assert arguments(PINNED, "mount-volumes") == {
        "cache-volume-gib": "900",
        "cache-volumes": "3",
        "system-volume-gib": "256",
    }


def test_a_tuned_cache_needs_no_new_cluster() -> None:
    for action in actions(trino_launch(CHOICE)):
        lasting = lasting_arguments(action.arguments, action.arguments)
        assert not {name.partition("=")[0] for name in lasting} & {"--cache-gib", "--least-hit-rate"}


def test_an_alarm_is_raised_ten_points_below_the_planned_hit_rate() -> None:
    plan = trino_launch(CHOICE).plan
    ratio, amplification = plan.hit_ratio.predicted, plan.cache.amplification
    # Of each byte that a query reads, a miss fetches the amplification, and a hit exactly the byte.
    planned = ratio / (ratio + (1 - ratio) * amplification)
    assert float(arguments(CHOICE, "publish-trino-metrics")["least-hit-rate"]) == pytest.approx(
        planned - 0.10, abs=5e-4
    )


def test_a_full_disk_does_not_cost_a_worker_and_the_check_of_broken_disks_stays() -> None:
    """EMR replaces a node whose disk YARN calls unhealthy, and its cache is lost."""
    health = "yarn.nodemanager.disk-health-checker."
    core = flattened(trino_launch().settings.core)
    settings = {key: value for path, key, value in core if path == "yarn-site" and key.startswith(health)}
    assert settings == {f"{health}max-disk-utilization-per-disk-percentage": "99"}
