#!/usr/bin/env bats
# The action that mounts volumes, on a node with real loop devices for disks.
# shellcheck disable=SC2154 # bats and node.bash set what is read here

load node

setup() { hold_node; }
teardown() { release_node; }

readonly DROP_IN=/etc/systemd/system/hadoop-hdfs-datanode.service.d/10-warmbase.conf

mount_volumes() { act mount-volumes --cache-volume-gib="${1:-1}" --system-volume-gib=2; }

# assert_volume NAME DEVICE: that it is what is seen at /warmbase/NAME.
assert_volume() { assert_equal "$(source_of "/warmbase/$1")" "$2[/warmbase-$1]"; }

# refused_untouched MESSAGE: the action refuses, says so, and every disk and file is as before.
refused_untouched() {
  local before
  before=$(changed)
  mount_volumes
  assert_failure 1
  assert_output --partial "$1"
  assert_equal "$(changed)" "$before"
}

@test "mount-volumes: a primary is left alone" {
  attach 1
  attach 2
  put "$INSTANCE" <<<'{ "instanceGroupId": "ig-1", "isMaster": true }'
  local before
  before=$(changed)
  mount_volumes
  assert_success
  assert_output --partial "this is a primary node: it has none of these volumes"
  assert_equal "$(changed)" "$before"
}

@test "mount-volumes: without knowing the role no disk is touched" {
  attach 1
  attach 2
  rm "$node$INSTANCE"
  refused_untouched "cannot tell a primary from a core node"
}

# Attached in both orders: the order of names must not matter.
keeps_data() {
  local kept=$1 blank=$2 size_kept=$3 size_blank=$4 options=$5 without_times=$6 before
  attach_formatted "$size_kept"
  local kept_disk=$disk
  attach "$size_blank"
  local blank_disk=$disk
  mkdir "$node/mnt1"
  on_node mount "$kept_disk" /mnt1
  put /mnt1/precious <<<data
  printf '%s\t/mnt1\txfs\t%s\t0 2\n' "$kept_disk" "$options" | put /etc/fstab
  mount_volumes
  assert_success
  assert_equal "$(<"$node/mnt1/precious")" data
  assert_volume "$kept" "$kept_disk"
  assert_volume "$blank" "$blank_disk"
  assert_equal "$(on_node stat -c %a /warmbase/system)" 1777
  assert_equal "$(on_node stat -c %a /warmbase/cache)" 755
  run on_node findmnt -no OPTIONS --mountpoint /warmbase/cache
  assert_output --partial noatime
  run on_node cat /etc/fstab
  assert_line "$kept_disk /mnt1 xfs $without_times 0 2"
  before=$(changed)
  mount_volumes
  assert_success
  refute_output --partial "wrote"
  refute_output --partial "formatting"
  assert_equal "$(changed)" "$before"
}
bats_test_function --description "mount-volumes: data on the cache's volume survive, and a second run" -- \
  keeps_data cache system 1 2 defaults,relatime,nofail defaults,noatime,nofail
bats_test_function --description "mount-volumes: data on the system's volume survive, and a second run" -- \
  keeps_data system cache 2 1 defaults,nofail defaults,nofail,noatime

@test "mount-volumes: mounts survive a reboot" {
  attach_formatted 1
  local cache=$disk target
  attach 2
  local system=$disk id
  id=$(on_node blkid -p -s UUID -o value "$cache")
  mount_volumes
  assert_success
  run on_node cat /etc/fstab
  assert_line --regexp "^UUID=$id /warmbase/volumes/cache [a-z0-9]+ defaults,noatime,nofail 0 2$"
  local bound="/warmbase/volumes/cache/warmbase-cache /warmbase/cache none bind"
  assert_line "$bound,nofail,x-systemd.requires-mounts-for=/warmbase/volumes/cache 0 0"
  for target in cache system volumes/cache volumes/system; do on_node umount "/warmbase/$target"; done
  # Without udev there is no /dev/disk/by-uuid: mount takes the ids from blkid's own list.
  on_node blkid "$cache" "$system"
  on_node mount --all
  assert_volume cache "$cache"
  assert_volume system "$system"
  run on_node findmnt -no OPTIONS --mountpoint /warmbase/cache
  assert_output --partial noatime
}

ambiguous() {
  local message=$1 size
  for size in "${@:2}"; do attach "$size"; done
  refused_untouched "$message"
  for size in "${@:2}"; do assert_output --regexp "/dev/loop[0-9]+ $size GiB;"; done
}
bats_test_function --description "mount-volumes: two disks of one size are refused" -- \
  ambiguous "2 disks of 1 GiB, exactly 1 needed" 1 1 2
bats_test_function --description "mount-volumes: a size that is not there is refused" -- \
  ambiguous "0 disks of 2 GiB, exactly 1 needed" 1 3
bats_test_function --description "mount-volumes: no disk at all is refused" -- \
  ambiguous "0 disks of 1 GiB, exactly 1 needed"

# not_the_store BYTES BYTES: an instance store is as many whole GiB and some bytes; the volume is exactly so many.
not_the_store() {
  local beyond volume store
  for beyond in "$@"; do
    attach 1 "$beyond"
    if ((beyond == 0)); then volume=$disk; else store=$disk; fi
  done
  attach 2
  mount_volumes
  assert_success
  assert_volume cache "$volume"
  is_blank "$store"
}
bats_test_function --description "mount-volumes: an instance store before the volume is not taken for it" -- not_the_store "$MIB" 0
bats_test_function --description "mount-volumes: an instance store after the volume is not taken for it" -- not_the_store 0 "$MIB"

@test "mount-volumes: systemd accepts what makes the DataNode wait for its volumes" {
  attach 1
  attach 2
  mount_volumes
  assert_success
  assert_drop_in hadoop-hdfs-datanode "$DROP_IN"
}

@test "mount-volumes: an instance store is known by its whole GiB" {
  attach 1 "$MIB"
  local store=$disk
  attach 2
  mount_volumes
  assert_success
  assert_volume cache "$store"
}

@test "mount-volumes: an instance store that EMR has mounted is used as it is" {
  attach_formatted 1 "$MIB"
  local store=$disk id
  id=$(on_node blkid -p -s UUID -o value "$store")
  attach 2
  mkdir "$node/mnt1"
  on_node mount "$store" /mnt1
  mount_volumes
  assert_success
  assert_volume cache "$store"
  assert_equal "$(on_node blkid -p -s UUID -o value "$store")" "$id"
  assert_output --partial "cache volume: disk $store, device $store, mounted at /mnt1"
}

@test "mount-volumes: the root disk is never a data volume" {
  attach_formatted 1
  local root=$disk number
  attach 1
  local cache=$disk
  attach 2
  number=$(on_node lsblk --noheadings --output MAJ:MIN "$root")
  stub findmnt <<STUB
case "\$*" in *"--mountpoint /") echo $number ;; *) exec $(command -v findmnt) "\$@" ;; esac
STUB
  mount_volumes
  assert_success
  assert_volume cache "$cache"
  mount_volumes 3
  assert_output --partial "0 disks of 3 GiB, exactly 1 needed; this node has: $root (the root disk); $cache 1 GiB"
}

never_formatted() {
  local what=$1 before
  attach 1
  local found=$disk
  attach 2
  case $what in
    swap) on_node mkswap "$found" ;;
    "unknown data") printf precious | dd of="$found" bs=1 seek=$((512 * 1024)) conv=notrunc status=none ;;
    linux_raid_member)
      # Version 0.90: its superblock is 64 KiB from the end, far behind the first MiB.
      printf '\xfc\x4e\x2b\xa9\0\0\0\0\x5a\0\0\0' | dd of="$found" bs=1 seek=$((GIB - 65536)) conv=notrunc status=none
      ;;
  esac
  before=$(sha256sum "$found")
  mount_volumes
  assert_failure 1
  assert_output --partial "$found is neither blank nor a filesystem (found: $what)"
  assert_equal "$(sha256sum "$found")" "$before"
}
bats_test_function --description "mount-volumes: unknown data are never formatted" -- never_formatted "unknown data"
bats_test_function --description "mount-volumes: a swap area is never formatted" -- never_formatted swap
bats_test_function --description "mount-volumes: a signature behind the first MiB is enough" -- never_formatted linux_raid_member

# What lsblk shows below a disk of 20 GiB: kernel name, path, bytes, parent. LEAF stands for a real device.
found_by_its_disk() {
  attach_formatted 1
  local leaf=$disk
  attach_formatted 2
  local system=$disk
  printf '/dev/nvme1n1 disk %d\n%s disk %d\n' $((20 * GIB)) "$system" $((2 * GIB)) | put /disks
  printf '%s\n' "nvme1n1 /dev/nvme1n1 $((20 * GIB)) " "${@//LEAF/$leaf}" | put /trees/dev/nvme1n1
  printf '%s %s %d \n' "${system##*/}" "$system" $((2 * GIB)) | put "/trees$system"
  stub lsblk <<'STUB'
for last; do :; done
case $last in /dev/*) cat "/trees$last" ;; *) cat /disks ;; esac
STUB
  mount_volumes 20
  assert_success
  assert_volume cache "$leaf"
}
bats_test_function --description "mount-volumes: a file system under LUKS is found by the size of its disk" -- \
  found_by_its_disk "dm-0 LEAF $((20 * GIB - 16 * MIB)) nvme1n1"
bats_test_function --description "mount-volumes: a file system on the second partition is found by the size of its disk" -- \
  found_by_its_disk "nvme1n1p1 /dev/null $((5 * GIB)) nvme1n1" "nvme1n1p2 LEAF $((15 * GIB)) nvme1n1"
bats_test_function --description "mount-volumes: LUKS on the second partition is found by the size of its disk" -- \
  found_by_its_disk "nvme1n1p1 /dev/nvme1n1p1 $((5 * GIB)) nvme1n1" \
  "dm-0 /dev/null $((5 * GIB - 16 * MIB)) nvme1n1p1" \
  "nvme1n1p2 /dev/nvme1n1p2 $((15 * GIB)) nvme1n1" "dm-1 LEAF $((15 * GIB - 16 * MIB)) nvme1n1p2"

@test "mount-volumes: our own bind mount is not taken for the volume" {
  attach 1
  attach 2
  mount_volumes
  assert_success
  local before
  before=$(changed | sort)
  on_node umount /warmbase/volumes/cache # the bind mount stays
  mount_volumes
  assert_success
  assert_equal "$(changed | sort)" "$before"
}

@test "mount-volumes: what else is mounted at our path is told, and left" {
  attach 1
  attach 2
  mkdir -p "$node/warmbase/system"
  on_node mount -t tmpfs tmpfs /warmbase/system
  mount_volumes
  assert_failure 1
  assert_output --partial "something else is mounted at /warmbase/system: tmpfs"
  assert_output --partial "fix: umount /warmbase/system"
}

@test "mount-volumes: a disk that cannot be read is never formatted" {
  attach 1
  local cache=$disk
  attach 2
  stub head <<STUB
echo "head: cannot open $cache" >&2
exit 1
STUB
  mount_volumes
  assert_failure 1
  assert_output --partial "cannot read $cache, so it was not changed"
  is_blank "$cache"
}

@test "mount-volumes: a run that ended between the volumes is completed by the next" {
  attach 1
  local cache=$disk
  attach 2
  local system=$disk line
  stub_mkfs_failing_for "$system"
  mount_volumes
  assert_failure 1
  line=$(grep -n 'mkfs.xfs -q' "$UPLOADED/mount-volumes.sh" | cut -d: -f1)
  assert_output --partial "mount-volumes: failed at line $line: mkfs.xfs -q"
  stub_mkfs_failing_for /dev/none
  mount_volumes
  assert_success
  assert_line "mount-volumes: an earlier run did not end: checking its steps again"
  refute_output --partial "$cache is blank"
  assert_volume cache "$cache"
  assert_volume system "$system"
}

@test "mount-volumes: without a cache the system alone gets a volume" {
  attach 2
  act mount-volumes --system-volume-gib=2
  assert_success
  assert_volume system "$disk"
  assert [ ! -e "$node/warmbase/cache" ]
}

mount_caches() { act mount-volumes --cache-volume-gib=1 --cache-volumes=2 --system-volume-gib=3; }

@test "mount-volumes: two cache volumes each have their path, after a reboot and in any order" {
  attach 1
  local first=$disk second system target before
  attach 1
  second=$disk
  attach 3
  system=$disk
  mount_caches
  assert_success
  assert_volume cache "$first"
  assert_volume cache-2 "$second"
  assert_volume system "$system"
  assert_equal "$(on_node stat -c %a /warmbase/cache-2)" 755
  run on_node findmnt -no OPTIONS --mountpoint /warmbase/cache-2
  assert_output --partial noatime
  run on_node cat /etc/fstab
  assert_line --regexp "^/warmbase/volumes/cache-2/warmbase-cache-2 /warmbase/cache-2 none bind,nofail"
  before=$(changed)
  mount_caches
  assert_success
  assert_equal "$(changed)" "$before"
  for target in cache cache-2; do on_node umount "/warmbase/$target" "/warmbase/volumes/$target"; done
  disks=("$second" "$first" "$system")
  stub lsblk <<LSBLK
case "\$*" in */dev/*) exec $(command -v lsblk) "\$@" ;; esac
for device in ${disks[*]}; do $(command -v lsblk) "\$@" "\$device"; done | sed 's/ loop / disk /'
LSBLK
  mount_caches
  assert_success
  assert_volume cache "$first"
  assert_volume cache-2 "$second"
}

@test "mount-volumes: one cache volume too few is refused, and none is touched" {
  attach 1
  local only=$disk
  attach 3
  mount_caches
  assert_failure 1
  assert_output --partial "1 disks of 1 GiB, exactly 2 needed"
  is_blank "$only"
}

mount_data() { act mount-volumes --system-volume-gib=3 --data-volume-gib=1 --data-volumes=2; }

# assert_data NUMBER DEVICE: that it is what is seen at /warmbase/data/NUMBER.
assert_data() { assert_equal "$(source_of "/warmbase/data/$1")" "$2[/warmbase-data-$1]"; }

@test "mount-volumes: volumes of HDFS's blocks each have their number, after a reboot and in any order" {
  attach_formatted 1
  local first=$disk second system before
  attach 1
  second=$disk
  attach 3
  system=$disk
  mkdir "$node/mnt1"
  on_node mount "$first" /mnt1
  mount_data
  assert_success
  assert_data 1 "$first"
  assert_data 2 "$second"
  assert_volume system "$system"
  assert_equal "$(on_node stat -c %a /warmbase/data/1)" 1777
  run on_node cat "$DROP_IN"
  for target in system data/1 data/2; do assert_line "RequiresMountsFor=/warmbase/$target"; done
  before=$(changed)
  mount_data
  assert_success
  assert_equal "$(changed)" "$before"
  # Named the other way round, and mounted elsewhere, each is what it was.
  for target in data/1 data/2; do on_node umount "/warmbase/$target"; done
  disks=("$second" "$first" "$system")
  stub lsblk <<LSBLK
case "\$*" in */dev/*) exec $(command -v lsblk) "\$@" ;; esac
for device in ${disks[*]}; do $(command -v lsblk) "\$@" "\$device"; done | sed 's/ loop / disk /'
LSBLK
  mount_data
  assert_success
  assert_data 1 "$first"
  assert_data 2 "$second"
}

@test "mount-volumes: fewer volumes of HDFS's blocks than planned are refused, and none is touched" {
  attach 1
  local only=$disk
  attach 3
  mount_data
  assert_failure 1
  assert_output --partial "1 disks of 1 GiB, exactly 2 needed"
  is_blank "$only"
}
