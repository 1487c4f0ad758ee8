"""Why a crash takes rows offline for as long as it does, and how long the initial load takes."""

from __future__ import annotations

from sizing import clients, node_replacement, offline
from sizing.candidate import Candidate
from sizing.explanation import Explanation, Quantity, explain
from sizing.explanations.quantities import MILLISECONDS, computed, constant, figure
from sizing.initial_load import load_bytes, log_bytes_per_second, network_bytes_per_second
from sizing.node_replacement import warm_seconds


def bad_hours_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain a crash and the initial load."""
    crash = {**_crash(candidate), **_replacement(candidate)} if candidate.count > 1 else {}
    return {
        **crash,
        "bad_hours.initial_load_seconds": explain(
            "cells / min(log, network)",
            "To load all data, clients put {cells} of cells. The volumes of the write-ahead log accept {log}, and the"
            " network carries {network}.",
            "a bound, not a forecast: compactions, handlers and the loader itself may be slower",
            cells=computed(load_bytes(candidate), "B", "sizing.initial_load.load_bytes"),
            log=computed(log_bytes_per_second(candidate), "B/s", "sizing.initial_load.log_bytes_per_second"),
            network=computed(
                network_bytes_per_second(candidate), "B/s", "sizing.initial_load.network_bytes_per_second"
            ),
        ),
    }


def _crash(candidate: Candidate) -> dict[str, Explanation]:
    phases = candidate.offline
    names = {
        "session": constant(clients, "SESSION_TIMEOUT_MS", "ms"),
        "milliseconds": MILLISECONDS,
        "split": _computed(phases.split_seconds),
        "retention": figure(phases.retention_seconds, "s", "restart.crash_offline_seconds"),
        "opening": _computed(phases.opening_seconds),
    }
    total = "session / milliseconds + split + retention + opening"
    waits = " and waits {retention} for it to return" if phases.retention_seconds else ""
    sentence = (
        "ZooKeeper gives up a crashed server after {session}. The master splits its log in {split}" + waits + ", and "
        "the other servers open its regions in {opening}."
    )
    source = "an estimate; the speed of the split, {speed}, is a judgement"
    speed = {"speed": constant(offline, "SPLIT_BYTES_PER_SECOND", "B/s")}
    return {
        "bad_hours.lost_node.offline_seconds": explain(total, sentence, source.format_map(speed), **names),
        "bad_hours.lost_node.offline_with_meta_seconds": explain(
            f"{total} + meta",
            sentence
            + " If the server also had hbase:meta, add {meta}, because the master first brings back hbase:meta.",
            source.format_map(speed),
            **names,
            meta=_computed(phases.meta_seconds),
        ),
    }


def _replacement(candidate: Candidate) -> dict[str, Explanation]:
    warms = candidate.cold is not None
    warm = computed(warm_seconds(candidate), "s", "sizing.node_replacement.warm_seconds")
    with_meta = candidate.offline.seconds + candidate.offline.meta_seconds
    return {
        "bad_hours.replaced_node.seconds": explain(
            "max(launch, offline) + runs * balancer" + (" + warm" if warms else ""),
            "EMR has a new node ready {launch} after the loss of an instance. HBase's balancer does not run until the "
            "rows of the lost node are online again, which takes up to {offline}. It then runs every {balancer}, and "
            "its moves may take as long again."
            + (" The new node then prefetches its blocks in {warm} while it serves reads." if warms else ""),
            "an estimate; AWS publishes no time for the replacement of a node",
            launch=constant(node_replacement, "REPLACEMENT_SECONDS", "s"),
            offline=figure(with_meta, "s", "bad_hours.lost_node.offline_with_meta_seconds"),
            balancer=constant(node_replacement, "BALANCER_SECONDS", "s"),
            runs=Quantity(value=2, source="one period until the balancer runs, and one for its moves"),
            **({"warm": warm} if warms else {}),
        )
    }


def _computed(seconds: float) -> Quantity:
    return computed(seconds, "s", "sizing.offline.offline")
