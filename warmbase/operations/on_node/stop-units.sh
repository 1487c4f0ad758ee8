#!/bin/sh
# Stops the units of HBase on this node by request, and prints each that still runs. systemd starts a unit again that
# ended by itself, if the unit says so, but never one that was stopped by request. Systems Manager runs it as root.
set -eu

for unit in hbase-regionserver hbase-thrift hbase-rest hbase-master; do
  systemctl cat "$unit" >/dev/null 2>&1 || continue
  systemctl stop "$unit" || true
  case $(systemctl is-active "$unit" || true) in
    inactive | failed) ;;
    *) echo "$unit" ;;
  esac
done
