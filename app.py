"""The CDK app: environment file → plan → classifications → stacks. `cdk deploy -c environment=prod --all` runs it."""

import sys

from warmbase.app import main

if __name__ == "__main__":
    sys.exit(main())
