"""Kerberos in an environment file: what is refused, and that no message repeats a password."""

from __future__ import annotations

from pathlib import Path

import pytest

from warmbase.environments.environment import Kerberos
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import InvalidInput

DEV = (Path(__file__).parents[2] / "environments/dev.yaml").read_text(encoding="utf-8")
SECRET = "hunter2-is-secret"
REFERENCE = "'{{resolve:secretsmanager:hbase/kdc:SecretString:password}}'"
VPC = "vpc: vpc-0123456789abcdef0, subnet: subnet-0123456789abcdef0"
EXTERNAL = (
    f"kdc: 'kdc.example.com:88', admin_server: 'kdc.example.com:749', realm: EXAMPLE.COM, admin_password: {REFERENCE}"
)
CLUSTER = f"kdc: cluster, realm: EC2.INTERNAL, admin_password: {REFERENCE}"


def file_of(directory: Path, kerberos: str, *, primaries: int = 1, vpc: str = "") -> str:
    text = DEV.replace("primaries: 1", f"primaries: {primaries}")
    text = text.replace("{availability_zone: us-east-1a}", f"{{availability_zone: us-east-1a, {vpc}}}")
    file = directory / "dev.yaml"
    file.write_text(f"{text}\nsecurity: {{kerberos: {{{kerberos}}}}}\n", encoding="utf-8")
    return str(file)


def test_both_kinds_of_a_kdc_are_read(tmp_path: Path) -> None:
    reference = REFERENCE.strip("'")
    own = read_environment(file_of(tmp_path, CLUSTER)).kerberos
    assert own == Kerberos(realm="EC2.INTERNAL", admin_password=reference)
    servers = {"kdc": "kdc.example.com:88", "admin_server": "kdc.example.com:749"}
    other = read_environment(file_of(tmp_path, EXTERNAL, primaries=3, vpc=VPC)).kerberos
    assert other == Kerberos(realm="EXAMPLE.COM", admin_password=reference, **servers)
    assert own is not None
    assert own.where.endswith(f"dev.yaml:{DEV.count(chr(10)) + 2}")


REFUSED = [
    (CLUSTER.replace(REFERENCE, SECRET), 1, "", "must not be in the file"),
    (CLUSTER.replace(REFERENCE, "123456789"), 1, "", "must not be in the file"),
    (CLUSTER.replace(REFERENCE, f"[{SECRET}]"), 1, "", "must not be in the file"),
    (CLUSTER.replace("secretsmanager", "ssm-secure"), 1, "", "resolves ssm-secure in no property of an EMR cluster"),
    (CLUSTER.replace("secretsmanager", "ssm"), 1, "", "only for parameters that are stored as plain text"),
    (CLUSTER, 3, "", "clusters.blue has several primary nodes"),
    (f"{CLUSTER}, admin_server: kdc", 1, "", "has its own admin server"),
    (EXTERNAL, 1, "", "the VPC is new, so no route leads from it to a KDC"),
    (EXTERNAL.replace("admin_server: 'kdc.example.com:749', ", ""), 1, VPC, "add admin_server"),
    (CLUSTER.replace("EC2.INTERNAL", "'not a realm'"), 1, "", "is not a realm"),
    (EXTERNAL.replace(":88", ":port"), 1, VPC, "security.kerberos.kdc"),
    ("kdc: cluster, realm: EC2.INTERNAL", 1, "", "is required but missing"),
]


@pytest.mark.parametrize(("kerberos", "primaries", "vpc", "expected"), REFUSED)
def test_what_cannot_be_launched_is_refused(
    kerberos: str, primaries: int, vpc: str, expected: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_environment(file_of(tmp_path, kerberos, primaries=primaries, vpc=vpc))
    text = "\n".join(map(str, caught.value.problems))
    assert expected in text
    assert "fix: " in text
    assert "dev.yaml:" in text
    assert SECRET not in text
    assert "123456789" not in text
