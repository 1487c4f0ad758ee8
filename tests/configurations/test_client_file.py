"""The file for clients is well-formed XML with properties that HBase has, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from tests.configurations.variants import VARIANTS, Variant, kerberos_launch, variant_launch
from warmbase.configurations.client_file import client_site_xml
from warmbase.configurations.launch import Launch
from warmbase.facts.keys import hbase_keys
from warmbase.sizing.server.restart import patience_seconds

Launches = Callable[[str], Launch]


def properties(launch: Launch) -> dict[str, str]:
    site = ET.fromstring(client_site_xml(launch))  # noqa: S314 - our own text
    return {entry.findtext("name", ""): entry.findtext("value", "") for entry in site.findall("property")}


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_property_exists_and_has_a_reason(variant: Variant) -> None:
    launch = variant_launch(variant)
    assert set(properties(launch)) <= set(hbase_keys())
    assert client_site_xml(launch).count("<!-- ") == len(properties(launch)) + 1


def test_a_client_outlasts_the_retention_window(launches: Launches) -> None:
    prod = launches("prod")
    retries = int(properties(prod)["hbase.client.retries.number"])
    assert patience_seconds(retries) > prod.plan.restart.retention_window_seconds + 40 > patience_seconds(15)
    assert "setCacheBlocks(false)" in client_site_xml(prod)


def test_a_client_of_a_cluster_with_kerberos_names_its_principals() -> None:
    file = properties(kerberos_launch())
    assert file.keys() - properties(variant_launch(VARIANTS[0])).keys() == {
        "hbase.security.authentication",
        "hbase.master.kerberos.principal",
        "hbase.regionserver.kerberos.principal",
        "hbase.rpc.protection",
    }
    assert file["hbase.regionserver.kerberos.principal"] == "hbase/_HOST@EC2.INTERNAL"
    core = next(one.properties for one in kerberos_launch().settings.core if one.name == "hbase-site")
    shared = ("hbase.security.authentication", "hbase.rpc.protection")
    assert {key: file[key] for key in shared} == {key: core[key] for key in shared}, "both sides state the same"
