#!/usr/bin/env bash
# Reads for each RegionServer how much of its store files is on its own host, or moves replicas there. The arguments
# after the answer's URL: locality, or relocate BYTES_PER_SECOND SECONDS.
# shellcheck source=warmbase/operations/steps/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"
# shellcheck source=warmbase/operations/steps/program.sh
source "$(dirname "${BASH_SOURCE[0]}")/program.sh"

# Only the superuser of HDFS moves replicas. Without Kerberos, HDFS trusts this name.
export HADOOP_USER_NAME=hdfs

# program: the Ruby program for the HBase shell.
program() {
  cat "$(dirname "${BASH_SOURCE[0]}")/locality.rb"
}

answer_by_program
