"""TemplateURLs: the CDK CLI sends path-style ones on a loopback address, which moto reads as a bucket named `127`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from moto.cloudformation import models, responses, utils
from moto.s3.models import s3_backends

from local_aws.moto_border import replace

if TYPE_CHECKING:
    from local_aws.moto_border import Untyped

PATH_STYLE_HOSTS = ("127.0.0.1", "localhost", "[::1]")


def install() -> None:
    """Makes every reader of template URLs understand both styles."""
    for module in (models, responses, utils):
        replace(module, "get_stack_from_s3_url", template_from_url)


def template_from_url(template_url: str, account_id: str, partition: str) -> str:
    """Return the text of the object that the URL names, path-style or virtual-hosted."""
    bucket, key = bucket_and_key(template_url)
    found: Untyped = s3_backends[account_id][partition].get_object(bucket, key)
    return str(found.value.decode("utf-8"))


def bucket_and_key(url: str) -> tuple[str, str]:
    """Return the bucket and the key that an S3 URL names."""
    parts = urlparse(url)
    host = parts.netloc.rsplit(":", maxsplit=1)[0]
    path = unquote(parts.path.lstrip("/"))
    if host in PATH_STYLE_HOSTS or host.startswith(("s3.", "s3-")):
        bucket, _, key = path.partition("/")
        return bucket, key
    return host.split(".", maxsplit=1)[0], path
