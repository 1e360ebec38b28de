# The layers of block devices below a mount or a device, down to the disks. Rules: facts.sh.

bt_mounted_devices() { # the layers below the mount in BT_MOUNT_*
  local name='' dir=''
  if [ -e "$BT_ROOT/sys/dev/block/$BT_MOUNT_DEV" ]; then bt_layer_at "$BT_ROOT/sys/dev/block/$BT_MOUNT_DEV"; return; fi
  case $BT_MOUNT_TYPE:$BT_MOUNT_SOURCE in
    zfs:* | overlay:*) bt_why devices "$BT_MOUNT_TYPE" "$BT_MOUNT_SOURCE"; return ;;
    *:/dev/*) ;;
    *) return 0 ;;
  esac
  bt_named_device "$BT_MOUNT_SOURCE"
  [ "$BT_MOUNT_TYPE" = btrfs ] || return 0
  name=$(readlink -f -- "$BT_ROOT$BT_MOUNT_SOURCE") name=${name##*/}
  for dir in "$BT_ROOT"/sys/fs/btrfs/*/devices; do
    [ -e "$dir/$name" ] || continue
    for name in "$dir"/*; do bt_layer_at "$BT_ROOT/sys/class/block/${name##*/}"; done
    return
  done
}

bt_named_device() { # PATH
  local real=''
  real=$(readlink -f -- "$BT_ROOT$1" 2>/dev/null)
  real=${real##*/}
  if [ -n "$real" ] && [ -e "$BT_ROOT/sys/class/block/$real" ]; then bt_layer_at "$BT_ROOT/sys/class/block/$real"
  else bt_why devices no-device "$1"
  fi
}

bt_layer_at() { if bt_real "$1"; then bt_layer "$BT_GOT"; fi; } # DIRECTORY, or a link to one

bt_layer() { # DIRECTORY: a row of a device, then of those below it
  local dir="$1" name="${1##*/}" each='' below='' kind=disk
  case " $BT_SEEN " in *" $name "*) return ;; esac
  BT_SEEN="$BT_SEEN $name" BT_LAYERS=$((BT_LAYERS + 1))
  [ "$BT_LAYERS" -le 80 ] || return 0
  for each in "$dir"/slaves/*; do
    [ ! -e "$each" ] || below=$below${below:+,}${each##*/}
  done
  if [ -e "$dir/partition" ]; then kind=partition each=${dir%/*} below=${each##*/}; fi
  BT_ROW=
  bt_layer_columns "$dir" "$name" "$kind"
  if [ "$BT_ROW" = "$BT_LAST" ]; then BT_ROW=; bt_col like "$BT_LAST_NAME"; else BT_LAST=$BT_ROW BT_LAST_NAME=$name; fi
  bt_col name "$name"
  bt_col_of label "$dir/dm/name"
  bt_col_of number "$dir/dev"
  bt_col below "$below"
  bt_wwid "$dir"
  bt_row devices
  if bt_get "$dir/loop/backing_file" && [ -n "$BT_GOT" ]; then BT_UNDER=$BT_UNDER$BT_GOT$BT_NL; fi
  if [ "$kind" = partition ]; then bt_layer "${dir%/*}"; return; fi
  for each in "$dir"/slaves/*; do
    [ ! -e "$each" ] || bt_layer_at "$each"
  done
}

bt_layer_columns() { # DIRECTORY NAME KIND: properties common to devices of one model
  local kind="$3"
  bt_col_of sectors "$1/size"
  case $2 in
    dm-*)
      kind=dm
      bt_get "$1/dm/uuid"
      case $BT_GOT in LVM-*) kind=lvm ;; mpath-*) kind=multipath ;; CRYPT-*) kind=crypt ;; part*-*) kind=partition ;; esac
      ;;
    md[0-9_]*) kind=md; bt_md "$1" ;;
    loop* | rbd* | nbd* | drbd* | bcache* | zram* | ram*) [ "$3" = partition ] || kind=${2%%[0-9]*} ;;
  esac
  bt_col kind "$kind"
  [ "$kind" != partition ] || return 0
  bt_col_of rotational "$1/queue/rotational"
  bt_col_of scheduler "$1/queue/scheduler"
  bt_col_of nr_requests "$1/queue/nr_requests"
  bt_col_of write_cache "$1/queue/write_cache"
  bt_col_of read_ahead_kib "$1/queue/read_ahead_kb"
  bt_col_of logical_block_bytes "$1/queue/logical_block_size"
  bt_col_of backing "$1/loop/backing_file"
  bt_col_of direct "$1/loop/dio"
  bt_col_of model "$1/device/model"
  bt_transport "$1"
}

bt_wwid() { # DIRECTORY: a disk's name on every host that sees it: NVMe, SCSI, virtio
  local file=''
  for file in wwid device/wwid serial; do
    if bt_get "$1/$file" && [ -n "$BT_GOT" ]; then bt_col wwid "$BT_GOT"; return; fi
  done
}

bt_md() { # DIRECTORY: a software RAID
  bt_col_of md_level "$1/md/level"
  bt_col_of md_state "$1/md/array_state"
  bt_col_of md_action "$1/md/sync_action"
  bt_col_of md_degraded "$1/md/degraded"
  bt_col_of md_done "$1/md/sync_completed"
}

bt_transport() { # DIRECTORY: how a disk is attached
  local each='' paths=0
  case $1 in
    */nvme*)
      for each in "$1/device/transport" "$1"/device/nvme*/transport; do
        bt_get "$each" || continue
        paths=$((paths + 1))
        [ "$paths" -gt 1 ] || bt_col transport "$BT_GOT"
        bt_get "${each%/*}/address"
        case $BT_GOT in traddr=*) BT_GOT=${BT_GOT#traddr=}; bt_reach "${BT_GOT%%,*}" ;; esac
      done
      [ "$paths" = 0 ] || bt_col paths "$paths"
      ;;
    */rport-*) bt_col transport fc ;;
    */session[0-9]*) bt_col transport iscsi ;;
    */end_device-*) bt_col transport sas ;;
    */usb[0-9]*) bt_col transport usb ;;
    */ata[0-9]*) bt_col transport sata ;;
    */virtio[0-9]*) bt_col transport virtio ;;
  esac
}
