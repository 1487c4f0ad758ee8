#!/usr/bin/env bash
# EMR bootstrap action: sets up the kernel for a JVM with a large heap that reads and writes a large cache on disk.
#
# `--help` lists the arguments. It leaves these files on the node, each with its reasons:
#   /etc/sysctl.d/90-warmbase.conf            memory and sockets
#   /etc/tmpfiles.d/warmbase.conf             huge pages
#   /etc/security/limits.d/zz-warmbase.conf   files and processes of the server's user
ACTION=tune-kernel
# shellcheck source=bootstrap-actions/shared.sh
source "$(dirname "${BASH_SOURCE[0]}")/shared.sh"

argument=([open_files]='' [processes]='' [dirty_mib]=1024 [user]=hbase)

usage() {
  cat <<USAGE
tune-kernel.sh --open-files=N --processes=N [--dirty-mib=N] [--user=NAME]

  --open-files=N    most file descriptors of a RegionServer or of Trino: store files, S3 connections, WAL streams
  --processes=N     its most threads
  --dirty-mib=N     most written data that may wait in memory, in MiB (${argument[dirty_mib]})
  --user=NAME       the user that runs it (${argument[user]})
USAGE
}

check_arguments() {
  # Below, HBase runs out; above, the kernel's default fs.nr_open makes the unit fail to start.
  check_number open-files 65536 1048576 descriptors
  check_number processes 4096 4194304 processes
  check_number dirty-mib 64 65536 MiB
  if [[ ! ${argument[user]} =~ ^[a-z]+$ ]]; then
    problems+=("--user='${argument[user]}': must be a user's name in small letters")
  fi
}

memory_and_sockets() {
  cat <<SYSCTL
# Installed by warmbase's bootstrap action $ACTION. To undo: remove this file, then sysctl --system.
# ZGC maps its heap in pages of 2 MiB, at worst each on its own, and the JVM fails when it runs out of maps: the kernel's
# default of 65530 suffices for 128 GiB of heap, less what else is mapped; this suffices for 2 TiB.
vm.max_map_count = 1048576
# A RegionServer whose heap is swapped out loses its ZooKeeper session; 1 still lets the kernel swap before it kills.
vm.swappiness = 1
# The cache is written constantly while it warms. With limits as a share of a large memory, the kernel gathers tens of
# GiB and then writes them at once, and reads from the same volume wait. So it starts early and gathers little.
vm.dirty_background_bytes = $((argument[dirty_mib] * 1024 * 1024 / 4))
vm.dirty_bytes = $((argument[dirty_mib] * 1024 * 1024))
# judgement: room for all clients to reconnect after a restart, where hbase.ipc.server.listen.queue.size asks for it.
net.core.somaxconn = 4096
net.ipv4.tcp_max_syn_backlog = 8192
SYSCTL
}

huge_pages() {
  cat <<TMPFILES
# Installed by warmbase's bootstrap action $ACTION. To undo: remove this file and start the node again.
# Huge pages only for programs that ask, as the JVM does for its heap; for all, they cost latency while memory is compacted.
w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise
w /sys/kernel/mm/transparent_hugepage/defrag - - - - madvise
# To the kernel, the heap of ZGC is shared memory, which has its own switch.
w /sys/kernel/mm/transparent_hugepage/shmem_enabled - - - - advise
TMPFILES
}

limits() {
  cat <<LIMITS
# Installed by warmbase's bootstrap action $ACTION. To undo: remove this file, then start the server again.
# For a start by su or runuser, which reads its limits here and not from the unit. The last file by name wins, and packages
# name theirs after the user.
${argument[user]} - nofile ${argument[open_files]}
${argument[user]} - nproc ${argument[processes]}
LIMITS
}

main() {
  begin "$@"
  put_file /etc/sysctl.d/90-warmbase.conf 644 "$(memory_and_sockets)"
  put_file /etc/tmpfiles.d/warmbase.conf 644 "$(huge_pages)"
  put_file /etc/security/limits.d/zz-warmbase.conf 644 "$(limits)"
  sysctl --quiet --load /etc/sysctl.d/90-warmbase.conf
  say "the kernel uses the settings of memory and sockets"
  systemd-tmpfiles --create /etc/tmpfiles.d/warmbase.conf
  say "the kernel uses the settings of huge pages"
  end "done"
}

main "$@"
