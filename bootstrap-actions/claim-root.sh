#!/usr/bin/env bash
# EMR bootstrap action, on primaries of an active cluster: claims the root directory, or ends this cluster.
#
# Two clusters that write to one root corrupt it. So before HBase is installed, an object beside the root must name this
# cluster. If it names another that may still run, this action fails, and EMR ends the cluster, which is not protected
# from termination before it is recorded. `--help` lists the arguments. It leaves only its program on the node.
ACTION=claim-root
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

argument=([bucket]='' [key]='' [kms_key]='' [program]='' [program_sha256]='' [requests]='' [requests_sha256]='')

usage() {
  cat <<USAGE
claim-root.sh --bucket=NAME --key=KEY --program=URL --program-sha256=HEX --requests=URL --requests-sha256=HEX

  --bucket=NAME             bucket of the root directory
  --key=KEY                 the claim's key in it
  --kms-key=ARN             the key that encrypts the claim (the bucket's default)
  --program=URL             claim_root.py as it was uploaded, s3://BUCKET/KEY
  --program-sha256=HEX      its SHA-256
  --requests=URL            role_requests.py, which it imports
  --requests-sha256=HEX     its SHA-256

To see which cluster has a root: aws s3 cp s3://NAME/KEY -
USAGE
}

check_arguments() {
  check_claim
  if [[ ! ${argument[kms_key]} =~ ^(arn:aws[a-z-]*:kms:[a-z0-9:/-]+)?$ ]]; then
    problems+=("--kms-key='${argument[kms_key]}': must be the ARN of a key")
  fi
  check_program program
  check_program requests
}

main() {
  begin "$@"
  if ! primary_node; then
    end "this is not a primary node: nothing to claim here"
    exit 0
  fi
  put_program requests role_requests.py
  put_program program claim_root.py
  /usr/bin/python3 "$PROGRAMS/claim_root.py" --bucket="${argument[bucket]}" --key="${argument[key]}" \
    --kms-key="${argument[kms_key]}" ||
    refuse "this cluster must not write to s3://${argument[bucket]}" "do what the lines above say"
  end "done"
}

main "$@"
