# Telemetry of a host while a load runs: the task `N.telemetry`. Its files are agent.sh, telemetry.sh, telemetry.awk, and
# one `group.I` with a pattern for each group of processes. Prints lines, fields separated by one space:
#
#   t EPOCH UPTIME            first: the time of day (seconds, fractions where date has them) at this uptime
#   d NAME below|top          a block device of the target: itself, or one below it
#   u NAME REASON...          a value that this host cannot report, once
#   c NAME...                 the columns of the lines that follow, again when they change
#   v UPTIME SECONDS VALUE... one value per column for the SECONDS before UPTIME; `-` is unknown

bt_telemetry() { # LOADS PATTERNS TARGET...: names of tasks whose processes count, names of groups; until it is ended
  BT_LOADS=$1 BT_GROUPS=$2 BT_DEVICES='' BT_RANK=0 BT_NFS='' BT_PORTS='' BT_QUOTAS='' BT_DIR=$PWD BT_ROOT=${BT_ROOT-}
  shift 2
  BT_HZ=$(getconf CLK_TCK 2>/dev/null) || BT_HZ=100
  bt_stamp
  bt_ports
  bt_quotas
  if [ $# = 0 ]; then BT_RANK=1; bt_disks; fi
  while [ $# -gt 0 ]; do
    bt_below_target "$1"
    shift
  done
  export BT_LOADS BT_GROUPS BT_DEVICES BT_RANK BT_NFS BT_PORTS BT_QUOTAS BT_DIR BT_ROOT BT_HZ
  exec ${BENCHTUI_AWK:-awk} -f telemetry.awk
}

bt_stamp() { # a busy host starts date late: the time of day counts that no hundredth of a second of uptime passed beside
  local before='' now='' up='' rest='' tries=0
  while [ "$tries" -lt 5 ]; do
    read -r before rest <"$BT_ROOT/proc/uptime"
    now=$(date +%s.%N)
    read -r up rest <"$BT_ROOT/proc/uptime"
    [ "$before" != "$up" ] || break
    tries=$((tries + 1))
  done
  bt_say "t $now $up"
}

bt_unknown() { bt_say "u $*"; } # NAME REASON

bt_ports() { # sets BT_PORTS: RDMA ports that are up, four at most
  local state='' port='' count=0
  for state in "$BT_ROOT"/sys/class/infiniband/*/ports/*/state; do
    [ -e "$state" ] && [ "$count" -lt 4 ] && bt_get "$state" || continue
    port=${state%/state} port=${port#"$BT_ROOT/sys/class/infiniband/"}
    case $BT_GOT in *ACTIVE*) BT_PORTS="$BT_PORTS $port" count=$((count + 1)) ;; esac
  done
}

bt_quotas() { # sets BT_QUOTAS: cpu.stat of our control group and of those above it that have a CPU limit
  local line='' names='' path=''
  while read -r line; do
    line=${line#*:} names=,${line%%:*}, path=${line#*:}
    case $names$path in
      *[[:space:]]*) ;;
      ,,*) bt_quotas_above /sys/fs/cgroup "$path" ;;
      *,cpu,*) bt_quotas_above /sys/fs/cgroup/cpu "$path" ;;
    esac
  done 2>/dev/null <"$BT_ROOT/proc/self/cgroup"
}

bt_quotas_above() { # MOUNT PATH
  local path="${2%/}" dir=''
  while :; do
    dir=$BT_ROOT$1$path
    BT_GOT=''
    bt_get "$dir/cpu.max" || bt_get "$dir/cpu.cfs_quota_us"
    case $BT_GOT in [0-9]*) BT_QUOTAS="$BT_QUOTAS $dir/cpu.stat" ;; esac
    case $path in */*) path=${path%/*} ;; *) break ;; esac
  done
}

bt_disks() { # sets BT_DEVICES: block devices with their own hardware
  local dir=''
  for dir in "$BT_ROOT"/sys/block/*/device; do
    [ -e "$dir" ] || continue
    dir=${dir%/device}
    BT_DEVICES="$BT_DEVICES $(bt_kernel_name "${dir##*/}")"
  done
}

bt_kernel_name() { bt_say "$1" | tr '!' '/'; } # as /proc/diskstats has it

bt_below_target() { # PATH: adds its devices to BT_DEVICES, or finds its mount
  local path='' mount='' number='' type='' source='' options=''
  path=$(readlink -f -- "$1" 2>/dev/null) || path=$1
  if [ -b "$path" ]; then
    bt_chain "$(bt_device_number "$path")" top 0
    return
  fi
  mount=$(bt_mount "$path")
  number=${mount%% *} mount=${mount#* }
  type=${mount%% *} mount=${mount#* }
  source=${mount%% *} mount=${mount#* }
  options=${mount#* } mount=${mount%% *}
  case $number:$type:$source in
    *:overlay:*) bt_below_layers "$mount" "$options" "$path" ;;
    *:nfs*) BT_NFS=$mount ;;
    0:*:/dev/*) bt_chain "$(bt_device_number "$source")" top 0 ;;
    0:* | :*) bt_unknown dev "no block device below ${path}: ${type:-not mounted}" ;;
    *) bt_chain "$number" top 0 ;;
  esac
}

bt_below_layers() { # MOUNT-POINT `ROOT OPTIONS` PATH: devices of each layer of an overlay that may hold the files there; none of
  # memory; without those of a file system that no device tells of, bytes would seem to be missing
  local layers='' layer='' kept=''
  layers=$(bt_in_layers "${2%% *}" "$1" "${2#* }" "$3" | sed 17q)
  while IFS= read -r layer; do
    kept=$kept.
    case $(bt_mount "$layer") in
      '0:'*' tmpfs '* | '0:'*' ramfs '* | '0:'*' '*' /dev/'* | [1-9]*) ;;
      *) kept=.................. ;;
    esac
  done <<BT_EOF
$layers
BT_EOF
  if [ -z "$layers" ] || [ ${#kept} -gt 16 ]; then bt_unknown dev "no block device below ${3}: overlay"; return; fi
  while IFS= read -r layer; do bt_below_target "$layer"; done <<BT_EOF
$layers
BT_EOF
}

bt_device_number() { # DEVICE: prints major:minor
  local numbers=''
  numbers=$(stat -L -c '%t %T' -- "$1" 2>/dev/null) || return 0
  bt_say "$((0x${numbers% *})):$((0x${numbers#* }))"
}

bt_mount() { # PATH: prints number, type, source, mount point, root and options (as the kernel writes them) of its mount
  # shellcheck disable=SC2016  # awk's dollars
  BT_PATH=$1 ${BENCHTUI_AWK:-awk} '
    BEGIN {
      path = ENVIRON["BT_PATH"]
      gsub(/\\/, "\\134", path); gsub(/ /, "\\040", path); gsub(/\t/, "\\011", path)
      path = path "/"
    }
    {
      point = $5 == "/" ? "" : $5
      if (index(path, point "/") != 1 || length(point) < longest) next
      longest = length(point)
      for (i = 7; $i != "-"; i++);
      found = $3 " " $(i + 1) " " $(i + 2) " " $5 " " $4 " " $(i + 3)
    }
    END { print found }' "$BT_ROOT/proc/self/mountinfo" 2>/dev/null
}

bt_chain() { # MAJOR:MINOR top|below DEPTH: adds a device and the ones below it
  local sys='' name='' slave=''
  [ -n "$1" ] && [ "$3" -lt 8 ] || return 0
  sys=$(readlink -f "$BT_ROOT/sys/dev/block/$1" 2>/dev/null) && [ -d "$sys" ] || return 0
  name=$(bt_kernel_name "${sys##*/}")
  case " $BT_DEVICES " in *" $name "*) return 0 ;; esac
  BT_DEVICES="$BT_DEVICES $name"
  bt_say "d $name $2"
  if [ -e "$sys/partition" ] && bt_get "${sys%/*}/dev"; then bt_chain "$BT_GOT" below $(($3 + 1)); fi
  for slave in "$sys"/slaves/*; do
    if bt_get "$slave/dev"; then bt_chain "$BT_GOT" below $(($3 + 1)); fi
  done
  if bt_get "$sys/loop/backing_file" && [ -n "$BT_GOT" ]; then bt_below_loop "$BT_GOT" $(($3 + 1)); fi
}

bt_below_loop() { # FILE DEPTH: the device of a loop device's file
  local number=''
  if [ -b "$1" ]; then number=$(bt_device_number "$1"); else number=$(bt_mount "$1"); fi
  number=${number%% *}
  case $number in 0:* | '') ;; *) bt_chain "$number" below "$2" ;; esac
}
