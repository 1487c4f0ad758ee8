"""The only home of aws_cdk: network, storage, cluster and monitoring of one environment."""

import os
import sys
from pathlib import Path

# The locked Node, where setup.sh had to install one: jsii would take an older one from the PATH and warn of its age.
_NODE = Path(sys.executable).with_name("node")
if _NODE.exists():
    os.environ.setdefault("JSII_NODE", str(_NODE))
