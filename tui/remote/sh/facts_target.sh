# Links, mounts and routes between a host and its targets; facts_layers.sh has the block devices below. Rules: facts.sh.

# ---- links -----------------------------------------------------------------------------------------------------

bt_facts_nics() { # physical links that are up, and links on them; others if there are none, as in containers
  local dir='' shown=0
  for dir in "$BT_ROOT"/sys/class/net/*; do
    bt_is_real_nic "$dir" || continue
    shown=$((shown + 1))
    [ "$shown" -gt 32 ] || bt_nic "$dir"
  done
  [ "$shown" = 0 ] || return 0
  for dir in "$BT_ROOT"/sys/class/net/*; do
    [ -d "$dir" ] && [ "${dir##*/}" != lo ] && bt_get "$dir/carrier" && [ "$BT_GOT" = 1 ] || continue
    shown=$((shown + 1))
    [ "$shown" -gt 8 ] || bt_nic "$dir"
  done
}

bt_is_real_nic() { # DIRECTORY: hardware that is up or part of a bond, or a link on such
  local lower=''
  [ -d "$1" ] || return 1
  if [ -e "$1/device" ]; then
    [ ! -e "$1/master" ] || return 0
    bt_get "$1/carrier" && [ "$BT_GOT" = 1 ]
    return
  fi
  [ ! -d "$1/bonding" ] || return 0
  for lower in "$1"/lower_*; do
    if [ -e "$lower/device" ] || [ -d "$lower/bonding" ]; then return 0; fi
  done
  return 1
}

bt_nic() { # DIRECTORY
  local dir="$1" lower='' below='' kind=virtual
  if [ -d "$dir/bonding" ]; then kind=bond
  elif [ -d "$dir/bridge" ]; then kind=bridge
  elif [ -e "$dir/device" ]; then kind=physical
  else
    for lower in "$dir"/lower_*; do
      [ ! -e "$lower" ] || { below=$below${below:+,}${lower##*/lower_}; kind=stacked; }
    done
  fi
  BT_ROW=
  bt_col name "${dir##*/}"
  bt_col kind "$kind"
  bt_col_of state "$dir/operstate"
  bt_col_of speed_mbit "$dir/speed"
  bt_col_of mtu "$dir/mtu"
  bt_col_of duplex "$dir/duplex"
  bt_col over "$below"
  bt_real "$dir/device/driver" && bt_col driver "${BT_GOT##*/}"
  bt_real "$dir/master" && bt_col master "${BT_GOT##*/}"
  bt_col_of numa_node "$dir/device/numa_node"
  bt_col_of bond_mode "$dir/bonding/mode"
  bt_col_of slaves "$dir/bonding/slaves"
  bt_col_of bond_active "$dir/bonding/active_slave"
  bt_col_of bond_hash "$dir/bonding/xmit_hash_policy"
  bt_row nics
}

bt_facts_fabrics() { # RDMA links and Fibre Channel ports
  local dir=''
  for dir in "$BT_ROOT"/sys/class/infiniband/*/ports/*; do
    [ -d "$dir" ] || continue
    BT_ROW=
    bt_col port "${dir##*/}"
    bt_col_of state "$dir/state"
    bt_col_of rate "$dir/rate"
    bt_col_of link_layer "$dir/link_layer"
    bt_col_of nic "$dir/gid_attrs/ndevs/0"
    dir=${dir%/ports/*}
    bt_col device "${dir##*/}"
    bt_row rdma
  done
  for dir in "$BT_ROOT"/sys/class/fc_host/*; do
    [ -d "$dir" ] || continue
    BT_ROW=
    bt_col name "${dir##*/}"
    bt_col_of speed "$dir/speed"
    bt_col_of state "$dir/port_state"
    bt_row fc_hosts
  done
}

# ---- targets ---------------------------------------------------------------------------------------------------

bt_facts_target() { # INDEX PATH [FILE]: its mount and the devices below, then those below the files that these devices are
  local path="$2" under=''
  if [ -n "${3:-}" ] && [ -f "$BT_ROOT$path" ]; then bt_real_file "$path"; path=$BT_GOT
  elif [ ! -d "$BT_ROOT$path" ]; then
    case ${3:-}:$path in :/dev/*) bt_named_device "$path"; bt_facts_under "$1"; return ;; esac # but not a file in /dev/shm
    while [ -n "$path" ] && [ ! -d "$BT_ROOT$path" ]; do path=${path%/*}; done
  fi
  bt_real "$BT_ROOT${path:-/}" && path=${BT_GOT#"$BT_ROOT"}
  bt_mount_of "${path:-/}"
  if [ -z "$BT_MOUNT_AT" ]; then bt_why "mounts" "not-found" "$2"; return; fi
  BT_MOUNTS="$BT_MOUNTS $BT_MOUNT_DEV:$BT_MOUNT_AT"
  BT_ROW=
  bt_col path "$2"
  bt_col at "$BT_MOUNT_AT"
  bt_col fstype "$BT_MOUNT_TYPE"
  bt_col source "$BT_MOUNT_SOURCE"
  bt_server
  bt_col server "$BT_SERVER"
  under=$BT_MOUNT_OPTIONS
  [ "${#BT_MOUNT_OPTIONS}" -le 600 ] || BT_MOUNT_OPTIONS=$(printf '%.600s' "$BT_MOUNT_OPTIONS")
  bt_col options "$BT_MOUNT_OPTIONS"
  bt_row mounts
  bt_mounted_devices
  if [ "$BT_MOUNT_TYPE" = overlay ]; then # a new file is in the highest layer
    under=$(bt_in_layers "$BT_MOUNT_ROOT" "$BT_MOUNT_AT" "$under" "${path:-/}" | sed 1q)
    [ -z "$under" ] || BT_UNDER=$BT_UNDER$under$BT_NL
  fi
  bt_facts_under "$1"
}

bt_facts_under() { # INDEX: what the files in BT_UNDER are on
  local under=''
  while [ -n "$BT_UNDER" ]; do
    under=${BT_UNDER%%"$BT_NL"*} BT_UNDER=${BT_UNDER#*"$BT_NL"}
    case $BT_NL$BT_TAKEN in *"$BT_NL$under$BT_NL"*) continue ;; esac
    BT_TAKEN=$BT_TAKEN$under$BT_NL
    bt_facts_target "$1" "$under" file
  done
}

bt_facts_file() { # INDEX PATH: of a file that is only read, the mount and layer that hold it, if no target is there
  local path='' layer=''
  [ -f "$BT_ROOT$2" ] || return 0
  bt_real_file "$2"
  path=$BT_GOT
  bt_mount_of "$path"
  case "$BT_MOUNTS " in *" $BT_MOUNT_DEV:$BT_MOUNT_AT "*) ;; *) bt_facts_target "$1" "$path" file; return ;; esac
  [ "$BT_MOUNT_TYPE" = overlay ] || return 0
  layer=$(bt_in_layers "$BT_MOUNT_ROOT" "$BT_MOUNT_AT" "$BT_MOUNT_OPTIONS" "$path")
  [ -z "$layer" ] || bt_facts_file "$1" "$layer"
}

bt_real_file() { # FILE: sets BT_GOT to where it really is
  BT_GOT=$1
  if [ -L "$BT_ROOT$1" ]; then BT_GOT=$(readlink -f -- "$BT_ROOT$1"); BT_GOT=${BT_GOT#"$BT_ROOT"}
  elif bt_real "$BT_ROOT${1%/*}/"; then BT_GOT=${BT_GOT#"$BT_ROOT"} BT_GOT=${BT_GOT%/}/${1##*/}
  else BT_GOT=$1
  fi
}

bt_mount_of() { # PATH: sets BT_MOUNT_AT, _DEV, _ROOT, _TYPE, _SOURCE, _OPTIONS from the last and longest mount above it
  local path="$1" at='' best=0 dev='' from='' rest='' lines=''
  case $path in *' '*) path=$(bt_say "$path" | sed 's/ /\\040/g') ;; esac
  BT_MOUNT_AT='' path=${path%/} at=${path%/}
  set -- -e ' / rw' -e ' / ro' # the options behind it tell the mount point from the root of the mount
  while [ -n "$at" ]; do set -- "$@" -e " $at rw" -e " $at ro"; at=${at%/*}; done
  lines=$(grep -F "$@" "$BT_ROOT/proc/self/mountinfo" 2>/dev/null)
  while read -r _ _ dev from at rest; do
    [ -n "$dev" ] || continue
    at=${at%/}
    case $path/ in "$at"/*) ;; *) continue ;; esac
    [ "${#at}" -ge "$best" ] || continue
    best=${#at} BT_MOUNT_AT=${at:-/} BT_MOUNT_DEV=$dev BT_MOUNT_ROOT=$from
    BT_MOUNT_OPTIONS=${rest%% *} rest=${rest##* - }
    BT_MOUNT_TYPE=${rest%% *} rest=${rest#* }
    BT_MOUNT_SOURCE=${rest%% *} BT_MOUNT_OPTIONS=$BT_MOUNT_OPTIONS,${rest#* }
  done <<MOUNTS
$lines
MOUNTS
}

bt_server() { # sets BT_SERVER to the server of a network file system, and keeps it for its route
  local from="$BT_MOUNT_SOURCE"
  BT_SERVER=''
  case $BT_MOUNT_DEV:$BT_MOUNT_TYPE in
    *:nfs* | *:cifs | *:smb3 | *:ceph | *:lustre | *:wekafs | *:fuse.* | *:beegfs | *:gpfs | *:9p) ;;
    *) return 0 ;;
  esac
  case ,$BT_MOUNT_OPTIONS, in
    *,addr=*) BT_SERVER=,$BT_MOUNT_OPTIONS, BT_SERVER=${BT_SERVER#*,addr=} BT_SERVER=${BT_SERVER%%,*} ;;
    *,mon_addr=*) BT_SERVER=,$BT_MOUNT_OPTIONS, BT_SERVER=${BT_SERVER#*,mon_addr=} BT_SERVER=${BT_SERVER%%[,/]*} ;;
    *)
      from=${from#//}
      case $from in
        \[*\]*) BT_SERVER=${from%%\]*} ;;
        *:* | *@*) BT_SERVER=${from%%[:@,/]*} ;;
        */*) [ "$BT_MOUNT_TYPE" != wekafs ] && [ "$BT_MOUNT_TYPE" != cifs ] || BT_SERVER=${from%%/*} ;;
      esac
      ;;
  esac
  case $BT_SERVER in
    \[*) BT_SERVER=${BT_SERVER#\[} BT_SERVER=${BT_SERVER%%\]*} ;;
    *:*:*) ;;
    *:*) BT_SERVER=${BT_SERVER%:*} ;;
  esac
  bt_reach "$BT_SERVER"
}

bt_reach() { # ADDRESS: report its route, once
  case " $BT_SERVERS " in *" $1 "*) ;; *) BT_SERVERS="$BT_SERVERS $1" ;; esac
}

bt_facts_routes() { # the link to each server
  local server='' count=0 line=''
  for server in $BT_SERVERS; do
    count=$((count + 1))
    [ "$count" -le 4 ] || return 0
    case $server in
      *[!0-9a-fA-F.:%]*) bt_why routes by-name "$server"; continue ;;
    esac
    if ! command -v ip >/dev/null 2>&1; then bt_why routes no-command ip; return 0; fi
    line=$(ip -o route get "$server" 2>/dev/null)
    if [ -n "$line" ]; then bt_say "routes=server=$server${BT_TAB}line=${line%%"$BT_NL"*}"
    else bt_why routes no-route "$server"
    fi
  done
}
