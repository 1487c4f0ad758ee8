# shellcheck shell=bash
# A node to run bootstrap actions on: this machine's files, overlaid, in a mount namespace of its own.
#
# Actions see their real paths (/etc/fstab, /warmbase) and real devices, and need no switch for tests. What they write and
# mount ends with the namespace; only loop devices outlive it, and `release_node` gives those back.
# shellcheck disable=SC2034,SC2154 # the files that load this read what is set here; bats sets `status`

load ../../node_modules/bats-support/load
load ../../node_modules/bats-assert/load

readonly INSTANCE=/mnt/var/lib/info/instance.json
readonly GIB=$((1 << 30))
readonly MIB=$((1 << 20))

# shellcheck disable=SC2016 # the shell in the namespace expands it
readonly HOLD='
set -e
mount -t tmpfs tmpfs "$0"
mkdir "$0/upper" "$0/work" "$0/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
mount --rbind /dev "$0/root/dev"
mount --rbind /sys "$0/root/sys"
mount -t proc proc "$0/root/proc"
exec chroot "$0/root" sh -c "echo held; exec sleep 300"
'

# hold_node: a core node without disks, its files under $node; the test is skipped, with the reason, where none can be.
hold_node() {
  if ((EUID != 0)); then skip "needs root, for mounts and loop devices"; fi
  local place=$BATS_TEST_TMPDIR/node said=$BATS_TEST_TMPDIR/said
  disks=()
  mkdir "$place"
  # 3 is what bats itself writes to, and waits for the end of.
  unshare --mount --propagation private sh -c "$HOLD" "$place" >"$said" 2>&1 3>&- &
  holder=$!
  until grep -qx held "$said"; do
    kill -0 "$holder" 2>/dev/null || skip "no mount namespace with an overlay: $(<"$said")"
    sleep 0.02
  done
  node=/proc/$holder/root
  put /etc/fstab <<<'# fstab of the node'
  put "$INSTANCE" <<<'{"isMaster": false}'
  stub lsblk </dev/null
  stub_mkfs_failing_for /dev/none
}

# stub_mkfs_failing_for DISK: mkfs.xfs, which fails for that one. Makes XFS as on EMR; ext4 where xfsprogs is missing.
stub_mkfs_failing_for() {
  stub mkfs.xfs <<STUB
case "\$* " in *" $1 "*) exit 1 ;; esac
exec $(command -v mkfs.xfs || command -v mkfs.ext4) "\$@"
STUB
}

# release_node: ends the namespace and with it every mount, then gives the loop devices back.
release_node() {
  if [[ -z ${holder:-} ]]; then return; fi
  kill "$holder" 2>/dev/null || true
  wait "$holder" 2>/dev/null || true
  local each
  for each in "${disks[@]}"; do losetup --detach "$each" || true; done
}

# on_node COMMAND...: as root, with the stubs first on PATH and nothing of this shell's environment.
on_node() {
  nsenter --target="$holder" --mount --root env --chdir=/ -i \
    PATH=/stubs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# act NAME ARGUMENT...: runs the action by itself, as EMR does; leaves bats's $status and $output.
act() {
  install -m 755 "$UPLOADED/$1.sh" "$node/action.sh"
  run on_node /action.sh "${@:2}"
}

# put PATH [MODE]: what stands on standard input, as a file of the node.
put() {
  mkdir -p "$(dirname "$node$1")"
  cat >"$node$1"
  chmod "${2:-644}" "$node$1"
}

# stub NAME: a command that does what stands on standard input, in the place of the machine's.
stub() { put "/stubs/$1" 755 < <(printf '#!/bin/sh\n' && cat); }

# upload ARGUMENT FILE: puts a program where actions fetch it, and adds to `fetched` the two arguments that say so.
upload() {
  mkdir -p "$node/uploads"
  cp "$UPLOADED/$2" "$node/uploads/"
  # Of the AWS CLI actions ask one thing: aws s3 cp --only-show-errors s3://uploads/NAME FILE
  # shellcheck disable=SC2016 # the stub expands them
  stub aws <<<'exec cp "/uploads/${4#s3://uploads/}" "$5"'
  fetched+=("--$1=s3://uploads/$2" "--$1-sha256=$(sha256sum <"$UPLOADED/$2" | cut -d' ' -f1)")
}

# attach GIB [BYTES]: one more disk, blank, of that size and so many bytes more; its path is in $disk.
attach() {
  local backing
  backing=$(mktemp -p "$BATS_TEST_TMPDIR")
  truncate -s "$(($1 * GIB + ${2:-0}))" "$backing"
  disk=$(losetup --find --show "$backing") || skip "no loop device can be had here"
  disks+=("$disk")
  # Loop devices stand in for disks, and the machine's own disks stay out of sight.
  stub lsblk <<LSBLK
case "\$*" in */dev/*) exec $(command -v lsblk) "\$@" ;; esac
for device in ${disks[*]}; do $(command -v lsblk) "\$@" "\$device"; done | sed 's/ loop / disk /'
LSBLK
}

# attach_formatted GIB: the same, with a file system.
attach_formatted() {
  attach "$@"
  on_node mkfs.xfs -q "$disk"
}

source_of() { on_node findmnt --noheadings --output SOURCE --mountpoint "$1"; }

# is_blank DISK: whether nothing at all is found on it.
is_blank() {
  run on_node blkid -p "$1"
  ((status == 2))
}

# changed: everything that a second run could change: mounts, files with their times, file-system ids.
changed() {
  on_node findmnt --raw --output TARGET,SOURCE,OPTIONS | sort
  on_node find /etc /usr/local /warmbase -xdev -newer /stubs/lsblk -printf '%p %m %T@ %s\n' 2>/dev/null | sort
  on_node cat /etc/fstab
  local each
  for each in "${disks[@]}"; do on_node blkid -p "$each" || true; done
}

# assert_drop_in SERVICE DROP_IN: systemd accepts our drop-in of a service of EMR, and would name it for a misspelt key.
assert_drop_in() {
  local unit=/etc/systemd/system/$1.service
  if ! command -v systemd-analyze >/dev/null; then skip "needs systemd-analyze to check the unit; the rest passed"; fi
  put "$unit" < <(printf '[Service]\nExecStart=/bin/true\n')
  run on_node systemd-analyze verify "$unit"
  refute_output --partial warmbase
  echo Misspelt=1 >>"$node$2"
  run on_node systemd-analyze verify "$unit"
  assert_output --partial "${2##*/}"
}
