"""The only home of aws_cdk: network, storage, cluster and monitoring of one environment."""

import os

# Node 20 still runs jsii, which otherwise prints ten lines about its end of life at every start.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
