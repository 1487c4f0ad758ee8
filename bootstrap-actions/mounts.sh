# shellcheck shell=bash
# Mounts volumes and binds directories of them, now and after a reboot. Like shared.sh and disks.sh, it replaces the line
# that sources it; it uses both.

# mount_device DEVICE TARGET: formats a blank device, and refuses one that is neither blank nor a filesystem.
mount_device() {
  if blank "$1"; then
    say "$1 is blank: formatting it with xfs"
    mkfs.xfs -q "$1" # without -f it refuses by itself to overwrite a signature
  elif [[ $(probed "$1" USAGE || true) != filesystem ]]; then
    refuse "$1 is neither blank nor a filesystem (found: $(probed "$1" TYPE || echo unknown data)); it was not changed" \
      "unlock or empty it by hand"
  fi
  say "mounting $1 at $2"
  mkdir -p "$2"
  mount -o noatime "$1" "$2"
}

# volume_in_fstab DEVICE TARGET: an existing line keeps its options and gains noatime; nofail lets a node boot without
# the volume, so that you can still log in and find out why.
volume_in_fstab() {
  local line content
  line="UUID=$(probed "$1" UUID) $2 $(probed "$1" TYPE) defaults,noatime,nofail 0 2"
  content=$(awk -v target="$2" -v line="$line" '
    $1 !~ /^#/ && $2 == target {
      present = 1
      if ("," $4 "," !~ /,noatime,/ && !gsub(/(rel|strict)atime/, "noatime", $4)) $4 = $4 ",noatime"
    }
    { print }
    END { if (!present) print line }' /etc/fstab)
  put_file /etc/fstab 644 "$content"
}

# mounted_volume NAME DISK: mounts the volume if it is not mounted, and prints where it is.
mounted_volume() {
  local device target
  device=$(device_on "$2")
  target=$(mount_of "$device")
  if [[ -z $target ]]; then
    target=/warmbase/volumes/$1
    mount_device "$device" "$target"
  fi
  say "$1 volume: disk $2, device $device, mounted at $target"
  # Nobody needs access times of the cache; writing them costs operations of the volume.
  if [[ ,$(findmnt --noheadings --raw --output OPTIONS --mountpoint "$target"), != *,noatime,* ]]; then
    mount -o remount,noatime "$target"
    say "remounted $target with noatime"
  fi
  volume_in_fstab "$device" "$target"
  echo "$target"
}

# bind_in_fstab TARGET LINE: leaves exactly that line for the target, where the old one was.
bind_in_fstab() {
  local content
  content=$(awk -v target="$1" -v line="$2" '
    $1 !~ /^#/ && $2 == target { if (!present) print line; present = 1; next }
    { print }
    END { if (!present) print line }' /etc/fstab)
  put_file /etc/fstab 644 "$content"
}

# bind NAME VOLUME MODE: binds VOLUME/warmbase-NAME to /warmbase/NAME, now and after a reboot; the directory of data/1 is
# warmbase-data-1.
bind() {
  local source=$2/warmbase-${1//\//-} target=/warmbase/$1
  local line="$source $target none bind,nofail,x-systemd.requires-mounts-for=$2 0 0"
  [[ -d $source ]] || mkdir "$source"
  chmod "$3" "$source"
  mkdir -p "$target"
  if [[ $source -ef $target ]]; then
    say "$target is already $source"
  elif mountpoint --quiet "$target"; then
    refuse "something else is mounted at $target: $(findmnt --noheadings --output SOURCE --mountpoint "$target")" \
      "umount $target"
  else
    mount --bind "$source" "$target"
    say "bound $source at $target"
  fi
  bind_in_fstab "$target" "$line"
}
