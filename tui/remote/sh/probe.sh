# Basic facts of the host.

bt_probe() { # COUNT COMMAND... DIR...: a COMMAND includes the arguments with which it prints its version
  local dir='' index=0 count="$1"
  shift
  bt_kv kernel "$(uname -sr)"
  bt_kv arch "$(uname -m)"
  bt_kv hostname "$(uname -n)"
  bt_kv uid "$BT_UID"
  bt_kv user "$(id -un 2>/dev/null)"
  bt_boot_id; bt_kv boot_id "$BT_GOT"
  bt_probe_machine
  bt_probe_tools
  while [ "$index" -lt "$count" ]; do
    # shellcheck disable=SC2086  # a command and its words
    bt_probe_command "command.$index" $1
    index=$((index + 1)); shift
  done
  index=0
  for dir; do
    bt_probe_dir "$dir" "dir.$index"
    index=$((index + 1))
  done
}

bt_probe_machine() {
  local key='' value='' rest=''
  bt_kv cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null || grep -c '^processor' /proc/cpuinfo)"
  bt_kv cpu_model "$(bt_cpu_model)"
  while read -r key value rest; do
    case $key in
      MemTotal:) bt_kv mem_kib "$value" ;;
      MemAvailable:) bt_kv mem_available_kib "$value"; break ;;
    esac
  done </proc/meminfo
  if read -r value rest 2>/dev/null </proc/loadavg; then bt_kv load1 "$value"; fi
  bt_kv os "$(bt_os)"
}

bt_os() { # the name of the distribution
  # shellcheck source=/dev/null
  (. /etc/os-release 2>/dev/null; bt_say "${PRETTY_NAME:-}")
}

bt_cpu_model() {
  local line=''
  while read -r line; do
    case $line in 'model name'*': '*) bt_say "${line#*: }"; return ;; esac
  done 2>/dev/null </proc/cpuinfo
}

bt_probe_tools() {
  local tool='' there=''
  for tool in setsid sudo numactl taskset nvme ethtool ip iostat nfsiostat mdadm multipath lsblk filefrag fincore \
    smartctl perf chronyc; do
    command -v "$tool" >/dev/null 2>&1 && there=$there${there:+ }$tool
  done
  bt_kv tools "$there"
}

bt_probe_command() { # KEY COMMAND WORD...: its path, and its version as it prints it
  local key="$1" path='' said='' line='' code=0
  shift
  path=$(command -v -- "$1" 2>/dev/null) || return 0
  bt_kv "$key.path" "$path"
  [ $# = 1 ] && return
  shift
  said=$(bt_limited 20 "$path" "$@" 2>&1) || code=$? # by path: exec takes the next on PATH for one without its loader
  [ "$code" != 124 ] || said='no answer in 20 s'
  [ "$code" -lt 126 ] || bt_kv "$key.failed" "$code" # not started, or killed by a signal
  case $said in *"$BT_NL"*) line=$(bt_say "$said" | sed -n '/[0-9]\.[0-9]/{p;q;}') ;; esac # GNU tools print their licence too
  said=${line:-$said}
  bt_kv "$key.version" "${said#timeout: failed to run command *: }"
}

bt_trial() { # COMMAND ARG...: runs a command that touches no target; reports its exit code, and its output if it failed
  local said='' code=0
  cd / && said=$(bt_limited 60 "$@" 2>&1) || code=$?
  [ "$code" != 124 ] || said='still running after 60 s'
  bt_kv exit "$code"
  [ "$code" = 0 ] || bt_kv said "$(bt_say "$said" | tail -n 3 | tr '\n' ' ' | cut -c1-300)"
}

bt_probe_dir() { # PATH KEY: kind and space of a target
  local file='' real=''
  bt_flag "$2.exists" [ -e "$1" ]
  bt_flag "$2.is_directory" [ -d "$1" ]
  bt_flag "$2.is_block" [ -b "$1" ]
  if [ -b "$1" ]; then
    bt_flag "$2.writable" [ -w "$1" ]
    real=$(readlink -f -- "$1" 2>/dev/null)
    bt_get "/sys/class/block/${real##*/}/size" && bt_kv "$2.total_sectors" "$BT_GOT"
  elif [ -d "$1" ]; then
    file=$1/.benchtui-probe-$BT_TOKEN
    # really create a file: permission bits know nothing of root squash, quotas and read-only mounts
    if (set -C; : >"$file") 2>/dev/null; then rm -f -- "$file"; bt_kv "$2.writable" 1; fi
    bt_probe_space "$1" "$2"
  fi
}

bt_last_word() { # takes the last word from BT_TEXT; sets BT_WORD
  BT_WORD=${BT_TEXT##* }
  BT_TEXT=${BT_TEXT%"$BT_WORD"}
  while :; do case $BT_TEXT in *' ') BT_TEXT=${BT_TEXT% } ;; *) break ;; esac; done
}

bt_probe_space() { # DIR KEY: file system, source and space
  local BT_TEXT='' BT_WORD='' line='' mount='' free='' used='' total=''
  line=$(df -Pk -- "$1" 2>/dev/null)
  BT_TEXT=${line##*"$BT_NL"}
  [ -n "$BT_TEXT" ] || return 0
  # from the right: a source such as `server:/my export` may hold spaces
  mount=${BT_TEXT#*% }
  BT_TEXT=${BT_TEXT%" $mount"}
  bt_last_word # the percentage
  bt_last_word; free=$BT_WORD
  bt_last_word; used=$BT_WORD
  bt_last_word; total=$BT_WORD
  bt_kv "$2.source" "$BT_TEXT"
  bt_kv "$2.mount_point" "$mount"
  bt_probe_blocks "$1" "$2"
  case $total$free in
    '' | *[!0-9]*) ;;
    *) bt_kv "$2.total_kib" "$total"; bt_kv "$2.free_kib" "$free" ;;
  esac
  case $used in '' | *[!0-9]*) ;; *) bt_kv "$2.used_kib" "$used" ;; esac
  bt_probe_mount "$1" "$2" "$mount"
}

bt_logical_block() { # DIRECTORY below /sys of a device or partition: sets BT_GOT to its logical block size
  bt_get "$1/queue/logical_block_size" || bt_get "$1/../queue/logical_block_size"
}

bt_probe_blocks() { # DIR KEY: logical block size of the one device that the file system is on, if it is on one
  local number=''
  number=$(stat -c %d -- "$1" 2>/dev/null)
  case $number in '' | *[!0-9]*) return 0 ;; "$(stat -c %d / 2>/dev/null)") bt_kv "$2.on_root" 1 ;; esac
  number=$((number >> 8 & 4095)):$((number & 255 | number >> 12 & 1048320))
  if [ -e "/sys/dev/block/$number" ] && bt_logical_block "/sys/dev/block/$number"; then bt_kv "$2.logical_block" "$BT_GOT"; fi
}

bt_probe_mount() { # DIR KEY MOUNT
  local source='' at='' type='' options='' rest='' found='' with=''
  while read -r source at type options rest; do
    [ "$at" = "$3" ] && found=$type with=$options # the last one is on top
  done </proc/mounts
  bt_kv "$2.fstype" "${found:-$(stat -f -c %T -- "$1" 2>/dev/null)}"
  bt_kv "$2.mount_options" "$with"
}
