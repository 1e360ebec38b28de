# What the host is and has.

bt_probe() { # DIR...
  bt_kv kernel "$(uname -sr)"
  bt_kv arch "$(uname -m)"
  bt_kv hostname "$(uname -n)"
  bt_kv uid "$(id -u)"
  bt_kv user "$(id -un 2>/dev/null)"
  bt_boot_id; bt_kv boot_id "$BT_GOT"
  bt_kv cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null || grep -c '^processor' /proc/cpuinfo)"
  bt_kv cpu_model "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | sed 1q)"
  while read -r BT_K BT_V BT_X; do
    case $BT_K in
      MemTotal:) bt_kv mem_kib "$BT_V" ;;
      MemAvailable:) bt_kv mem_available_kib "$BT_V" ;;
    esac
  done </proc/meminfo
  if read -r BT_V BT_X 2>/dev/null </proc/loadavg; then bt_kv load1 "$BT_V"; fi
  bt_kv os "$(. /etc/os-release 2>/dev/null; bt_say "${PRETTY_NAME:-}")"
  BT_V=$(command -v fio 2>/dev/null); bt_kv fio_path "$BT_V"
  [ -z "$BT_V" ] || bt_kv fio_version "$(fio --version 2>/dev/null)"
  BT_V=
  for BT_K in setsid sudo numactl mpirun mdtest nvme ethtool iostat nfsiostat chronyc; do
    command -v "$BT_K" >/dev/null 2>&1 && BT_V=$BT_V${BT_V:+ }$BT_K
  done
  bt_kv tools "$BT_V"
  BT_I=0
  for BT_D; do bt_probe_dir "$BT_D"; BT_I=$((BT_I + 1)); done
}

bt_trial() { # COMMAND ARG...: runs what touches no target; how it ended, and what it said
  cd / && BT_V=$("$@" </dev/null 2>&1) && BT_K=0 || BT_K=$?
  bt_kv exit "$BT_K"
  [ "$BT_K" = 0 ] || bt_kv said "$(bt_say "$BT_V" | tail -n 3 | tr '\n' ' ' | cut -c1-300)"
}

bt_probe_dir() { # PATH: what a benchmark must know of a target
  bt_kv "dir.$BT_I.exists" "$([ -e "$1" ] && bt_say 1)"
  bt_kv "dir.$BT_I.is_directory" "$([ -d "$1" ] && bt_say 1)"
  bt_kv "dir.$BT_I.is_block" "$([ -b "$1" ] && bt_say 1)"
  if [ -b "$1" ]; then
    bt_kv "dir.$BT_I.writable" "$([ -w "$1" ] && bt_say 1)"
    BT_K=$(readlink -f -- "$1" 2>/dev/null)
    bt_get "/sys/class/block/${BT_K##*/}/size" && bt_kv "dir.$BT_I.total_sectors" "$BT_GOT"
    bt_kv "dir.$BT_I.mounted" "$(bt_device_users "$1")"
  elif [ -d "$1" ]; then
    BT_F=$1/.benchtui-probe-$BT_TOKEN
    # really create a file: permission bits know nothing of root squash, quotas and read-only mounts
    if (set -C; : >"$BT_F") 2>/dev/null; then rm -f -- "$BT_F"; bt_kv "dir.$BT_I.writable" 1; fi
    bt_probe_space "$1"
  fi
}

bt_device_users() { # DEVICE: where it, or a partition of it, is mounted or used as swap
  BT_K=$(readlink -f -- "$1" 2>/dev/null || bt_say "$1")
  while read -r BT_S BT_M BT_X; do
    case $BT_S in "$BT_K" | "$BT_K"[0-9]* | "$BT_K"p[0-9]*) bt_say "$BT_M" ;; esac
  done </proc/mounts | sed 1q
  while read -r BT_S BT_X; do
    case $BT_S in "$BT_K" | "$BT_K"[0-9]* | "$BT_K"p[0-9]*) bt_say swap ;; esac
  done 2>/dev/null </proc/swaps | sed 1q
}

bt_probe_space() { # DIR: file system, source and room
  BT_S=$(df -Pk -- "$1" 2>/dev/null | tail -n 1)
  [ -n "$BT_S" ] || return 0
  # from the right: a source such as `server:/my export` may hold spaces
  BT_M=${BT_S#*% }
  BT_S=${BT_S%"% $BT_M"}; BT_S=${BT_S% *}; bt_trim
  BT_FREE=${BT_S##* }; BT_S=${BT_S%"$BT_FREE"}; bt_trim
  BT_V=${BT_S##* }; BT_S=${BT_S%"$BT_V"}; bt_trim
  BT_TOTAL=${BT_S##* }; BT_S=${BT_S%"$BT_TOTAL"}; bt_trim
  bt_kv "dir.$BT_I.source" "$BT_S"
  bt_kv "dir.$BT_I.mount_point" "$BT_M"
  case $BT_TOTAL$BT_FREE in
    '' | *[!0-9]*) ;;
    *) bt_kv "dir.$BT_I.total_kib" "$BT_TOTAL"; bt_kv "dir.$BT_I.free_kib" "$BT_FREE" ;;
  esac
  BT_TYPE= BT_OPTS=
  while read -r BT_X BT_K BT_V BT_W BT_Y; do
    [ "$BT_K" = "$BT_M" ] && BT_TYPE=$BT_V BT_OPTS=$BT_W # the last one is on top
  done </proc/mounts
  bt_kv "dir.$BT_I.fstype" "${BT_TYPE:-$(stat -f -c %T -- "$1" 2>/dev/null)}"
  bt_kv "dir.$BT_I.mount_options" "$BT_OPTS"
}

bt_trim() { while :; do case $BT_S in *' ') BT_S=${BT_S% } ;; *) break ;; esac; done; } # spaces at the end of BT_S
