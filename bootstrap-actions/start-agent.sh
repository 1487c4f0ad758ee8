#!/usr/bin/env bash
# EMR bootstrap action: starts the agent of Systems Manager, through which warmbase restarts and inspects a node.
#
# EMR's operating system contains the agent, but a version of Amazon Linux once booted with it disabled. HBase does not
# need it, so a node without it still joins the cluster. The action takes no arguments and leaves no files on the node.
ACTION=start-agent
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

readonly UNIT=amazon-ssm-agent.service

usage() { echo "start-agent.sh"; }
check_arguments() { :; }

main() {
  begin "$@"
  if ! systemctl cat "$UNIT" >/dev/null 2>&1; then
    say "this node has no $UNIT: warmbase cannot run a command on it"
  elif ! systemctl enable --now "$UNIT" >&2; then
    say "$UNIT does not start: warmbase cannot run a command on this node; \`journalctl --unit $UNIT\` says why"
  fi
  end "done"
}

main "$@"
