"""The configuration directories of the lab's processes: rendered files with the lab's overlay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from configurations.launch import Launch
from configurations.node_files import hbase_site_xml, site_properties
from emr.classification import Classification
from lab.hbase.jvm import CLIENT_LOGGING, logging_file
from lab.hbase.overlay import Overlay, ServerIdentity, client_overlay, master_overlay, server_overlay
from lab.hbase.paths import LabPaths
from lab.hbase.result import Substitution

NOTHING_VARIED: Final = Overlay({})
METRICS: Final = "*.period=1\n"
HADOOP_KEYS: Final = ("hadoop.security.", "hadoop.rpc.")


class Site(Struct, frozen=True, kw_only=True):
    """One daemon's configuration: `rendered` for its group, the lab's `overlay`, and an experiment's variations."""

    rendered: tuple[Classification, ...]
    overlay: Overlay
    varied: Overlay = NOTHING_VARIED

    @property
    def properties(self) -> Mapping[str, str]:
        """Return the properties of `hbase-site` in the lab."""
        return (self.overlay | self.varied).laid_over(site_properties(self.rendered))

    @property
    def as_rendered(self) -> int:
        """Return how many rendered properties of `hbase-site` are the same here as on EMR."""
        mine = self.properties
        return sum(mine.get(key) == value for key, value in site_properties(self.rendered).items())

    @property
    def substitutions(self) -> tuple[Substitution, ...]:
        """Return the properties that the lab changes, without those that an experiment varies."""
        return self.overlay.substitutions(site_properties(self.rendered))

    @property
    def tried(self) -> tuple[Substitution, ...]:
        """Return the properties that an experiment varies, beside the lab's own values."""
        return self.varied.substitutions(self.overlay.laid_over(site_properties(self.rendered)))


def master_site(launch: Launch, place: LabPaths, servers: int = 1) -> Site:
    """Return the configuration of the primary node."""
    overlay = master_overlay(place, launch.plan.mode, servers)
    return Site(rendered=launch.settings.effective("primary"), overlay=overlay)


def server_site(launch: Launch, place: LabPaths, cache_mib: int, at: ServerIdentity) -> Site:
    """Return the configuration of a core node."""
    overlay = server_overlay(place, launch.plan.mode, cache_mib, at)
    return Site(rendered=launch.settings.effective("core"), overlay=overlay)


def write_site(site: Site, place: LabPaths, name: str) -> None:
    """Write the directory of one daemon: its sites, logging, metrics, and empty directories for its web pages."""
    directory = place.configuration(name)
    for pages in ("master", "regionserver", "static"):
        # The info server needs its pages' directories before it serves JMX; the jars do not contain them.
        (directory / "hbase-webapps" / pages).mkdir(parents=True, exist_ok=True)
    files = {classification.name: classification for classification in site.rendered}
    (directory / "hbase-site.xml").write_text(_xml("hbase-site", site.properties), encoding="utf-8")
    # Hadoop looks for its own keys there, before HBase has read its site.
    hadoop = {key: value for key, value in site.properties.items() if key.startswith(HADOOP_KEYS)}
    if core := files.get("core-site"):
        core_site = _xml("hbase-site", {**core.properties, **hadoop})
        (directory / "core-site.xml").write_text(core_site, encoding="utf-8")
    logging = files["hbase-log4j2"].properties if "hbase-log4j2" in files else {}
    (directory / "log4j2.properties").write_text(logging_file(logging, to_file=True), encoding="utf-8")
    (directory / "hadoop-metrics2-hbase.properties").write_text(METRICS, encoding="utf-8")


def write_client(place: LabPaths) -> None:
    """Write the directory of load generators and of the admin process."""
    directory = place.configuration("client")
    directory.mkdir(parents=True, exist_ok=True)
    properties = client_overlay(place).laid_over({})
    (directory / "hbase-site.xml").write_text(_xml("hbase-site", properties), encoding="utf-8")
    (directory / CLIENT_LOGGING).write_text(logging_file({}, to_file=False), encoding="utf-8")


def _xml(name: str, properties: Mapping[str, str]) -> str:
    return hbase_site_xml([Classification(name=name, properties=properties)])
