"""The calls of the AWS command line that programs of nodes make, answered by the local AWS at AWS_ENDPOINT_URL.

Only these exist: `aws s3 cp --only-show-errors SOURCE TARGET`, from S3 to a file or from standard input to S3, and
`aws emr describe-cluster --cluster-id ID`. The program runs alone, and imports nothing of this project.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import urllib.error
import urllib.request
from pathlib import Path

SECONDS = 20


def main() -> None:
    """Answer the call in the arguments. Ends with a message where EMR refuses."""
    if sys.argv[1:3] == ["emr", "describe-cluster"]:
        describe_cluster(sys.argv[-1])
    else:
        copy(*sys.argv[-2:])


def describe_cluster(cluster_id: str) -> None:
    """Print EMR's description of a cluster."""
    headers = {
        **authorization("elasticmapreduce"),
        "X-Amz-Target": "ElasticMapReduce.DescribeCluster",
        "Content-Type": "application/x-amz-json-1.1",
    }
    body = json.dumps({"ClusterId": cluster_id}).encode()
    request = urllib.request.Request(f"{endpoint()}/", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            sys.stdout.write(answer.read().decode())
    except urllib.error.HTTPError as error:
        refusal = json.loads(error.read())
        message = refusal.get("message") or refusal.get("Message")
        sys.exit(f"An error occurred ({refusal['__type']}) when calling the DescribeCluster operation: {message}")


def copy(source: str, target: str) -> None:
    """Copy an object to a file, or standard input, as the source `-`, to an object."""
    uploads = source == "-"
    url = f"{endpoint()}/{(target if uploads else source).removeprefix('s3://')}"
    body = sys.stdin.buffer.read() if uploads else None
    headers = {**authorization("s3"), "Content-Type": "application/octet-stream"}
    request = urllib.request.Request(url, data=body, headers=headers, method="PUT" if uploads else "GET")
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        if not uploads:
            with Path(target).open("wb") as file:
                shutil.copyfileobj(answer, file)


def endpoint() -> str:
    """Return the address of the local AWS."""
    return os.environ["AWS_ENDPOINT_URL"]


def authorization(service: str) -> dict[str, str]:
    """Return the header that names the service and the region; nobody checks the signature."""
    scope = f"20200101/{os.environ['AWS_REGION']}/{service}/aws4_request"
    return {"Authorization": f"AWS4-HMAC-SHA256 Credential=local/{scope}, SignedHeaders=host, Signature=local"}


if __name__ == "__main__":
    main()
