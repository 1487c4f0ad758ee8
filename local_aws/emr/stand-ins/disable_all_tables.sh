#!/usr/bin/env bash
# Stands in for the script by which EMR disables every table of HBase.
set -euo pipefail

touch "$TMPDIR/hbase-tables-are-disabled"
