"""The options of a RegionServer's JVM, gathered from the variables that hbase-env.sh puts together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from emr.cluster_spec import PLACEHOLDER, Setting
from lint.node import LintedNode

__all__ = ["EXPORT", "JvmOptions", "is_all_gap", "java_version", "jvm_options", "size_mib"]

EXPORT: Final = "hbase-env/export"
VARIABLES: Final = ("HBASE_OPTS", "HBASE_REGIONSERVER_GC_OPTS", "HBASE_REGIONSERVER_OPTS")
"""In the order in which a RegionServer gets them; of a flag that stands twice the last counts."""
COLLECTORS: Final = re.compile(r"-XX:\+(Use(?:Z|G1|Parallel|Serial|Shenandoah|ConcMarkSweep|Epsilon)GC)\b")
MIB_OF: Final = {"": 2**-20, "k": 2**-10, "m": 1, "g": 2**10, "t": 2**20}


@dataclass(frozen=True, slots=True, kw_only=True)
class JvmOptions:
    """Stated options. Sizes in MiB, None where they are not stated or a gap."""

    settings: tuple[Setting, ...]
    collectors: tuple[tuple[str, Setting], ...]
    xms_mib: float | None
    xmx_mib: float | None
    direct_mib: float | None

    def with_flag(self, flag: str) -> Setting | None:
        """The setting in which a flag stands."""
        return next((setting for setting in self.settings if flag in setting.value), None)


def size_mib(text: str, *, plain_is_mib: bool = False) -> float | None:
    """`16640m` in MiB; a plain number is bytes, and MiB in HBASE_HEAPSIZE. None for what is no size."""
    found = re.fullmatch(r"(\d+)([kKmMgGtT]?)", text.strip().strip('"').strip())
    if not found:
        return None
    unit = found[2].lower()
    return int(found[1]) * (1 if plain_is_mib and not unit else MIB_OF[unit])


def jvm_options(node: LintedNode) -> JvmOptions:
    """Return what the file states for a RegionServer."""
    settings = tuple(found for name in VARIABLES if (found := node.setting(name, EXPORT)))
    text = " ".join(setting.value for setting in settings)
    return JvmOptions(
        settings=settings,
        collectors=tuple(_collectors(settings)),
        xms_mib=_last(r"-Xms(\d+[kKmMgGtT]?)\b", text),
        xmx_mib=_last(r"-Xmx(\d+[kKmMgGtT]?)\b", text),
        direct_mib=_last(r"-XX:MaxDirectMemorySize=(\d+[kKmMgGtT]?)\b", text),
    )


def is_all_gap(setting: Setting) -> bool:
    """Return whether the options are all still to be filled in: any could stand there."""
    return PLACEHOLDER.fullmatch(setting.value.strip().strip('"')) is not None


def java_version(node: LintedNode) -> int | None:
    """The JDK of HBase's daemons: of JAVA_HOME, or else the release's default; None where neither is known."""
    if node.unstated("JAVA_HOME", EXPORT):
        return node.release.java_default if node.release else None
    home = node.text("JAVA_HOME", EXPORT)
    found = re.search(r"(?:jre|jdk|java)-?(?:1\.)?(\d+)", home or "")
    return int(found[1]) if found else None


def _collectors(settings: tuple[Setting, ...]) -> Iterator[tuple[str, Setting]]:
    seen = set()
    for setting in settings:
        for name in COLLECTORS.findall(setting.value):
            if name not in seen:
                seen.add(name)
                yield name, setting


def _last(pattern: str, text: str) -> float | None:
    found = re.findall(pattern, text)
    return size_mib(found[-1]) if found else None
