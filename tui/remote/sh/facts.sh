# Facts of a machine: hardware, kernel, limits, settings, read from /proc and /sys with few forks. Nothing is installed.
# The targets of a run and the network to them: facts_target.sh.
#
# Answers: NAME=VALUE; a row of a table is NAME=COLUMN=VALUE, further columns after a tab each; what cannot be read is
# unknown=NAME REASON WHERE. BT_ROOT precedes every path: empty, except in tests, where it is the root of another machine's files.

BT_TAB='	'
BT_ROOT=${BT_ROOT-}

bt_facts() { # COUNT COMMAND... TARGET...: all facts, with checksums of the commands and the devices below the targets;
  # a target `read:PATH` is a test file that is only read
  local index=0 count="$1" target=''
  shift
  BT_ROW=''
  bt_facts_system
  bt_facts_cpu
  bt_facts_idle
  bt_facts_memory
  bt_facts_limits
  bt_facts_cgroup
  bt_facts_sysctls
  bt_facts_running "$count" "$@"
  while [ "$index" -lt "$count" ]; do
    bt_facts_checksum "$index" "$1"
    index=$((index + 1)); shift
  done
  bt_facts_nics
  bt_facts_fabrics
  index=0 BT_SERVERS='' BT_SEEN='' BT_LAYERS=0 BT_LAST='' BT_LAST_NAME='' BT_UNDER='' BT_TAKEN='' BT_MOUNTS=''
  for target; do
    case $target in
      read:*) bt_facts_file "$index" "${target#read:}" ;;
      *) bt_facts_target "$index" "$target" ;;
    esac
    index=$((index + 1))
  done
  bt_facts_routes
}

bt_why() { bt_say "unknown=$1 $2 $3"; } # NAME REASON WHERE: why a fact is unknown

bt_read() { # NAME FILE: its first line, or why it cannot be read
  local file="$BT_ROOT$2"
  if bt_get "$file" && [ -n "$BT_GOT" ]; then bt_say "$1=$BT_GOT"
  elif [ ! -e "$file" ]; then bt_why "$1" absent "$2"
  elif [ ! -r "$file" ]; then bt_why "$1" denied "$2"
  else bt_why "$1" empty "$2"
  fi
}

bt_read_if() { [ ! -e "$BT_ROOT$2" ] || bt_read "$@"; } # NAME FILE: nothing if the file does not exist

bt_col() { [ -z "$2" ] || BT_ROW=$BT_ROW$BT_TAB$1=$2; } # COLUMN VALUE: adds to BT_ROW
bt_col_of() { if bt_get "$2"; then bt_col "$1" "$BT_GOT"; fi; } # COLUMN FILE
bt_row() { bt_say "$1=${BT_ROW#"$BT_TAB"}"; BT_ROW=''; } # TABLE

bt_real() { # DIRECTORY: sets BT_GOT to where it really is, and goes there; a `readlink` that costs no process
  BT_GOT=
  cd -P -- "$1" >/dev/null 2>&1 || return 1
  case ${KSH_VERSION-} in '') BT_GOT=$PWD ;; *) BT_GOT=$(pwd -P) ;; esac # PWD of mksh keeps the links
}

# ---- system ----------------------------------------------------------------------------------------------------

bt_facts_system() {
  local line='' name='' file=''
  bt_read_if dmi_vendor /sys/class/dmi/id/sys_vendor
  bt_read_if dmi_product /sys/class/dmi/id/product_name
  bt_read_if hypervisor /sys/hypervisor/type
  for file in /run/systemd/container /.dockerenv /run/.containerenv; do
    [ ! -e "$BT_ROOT$file" ] || { bt_get "$BT_ROOT$file"; bt_say "container=${file##*/} $BT_GOT"; }
  done
  bt_cpuinfo
  bt_read boot_line /proc/cmdline
  bt_read clocksource /sys/devices/system/clocksource/clocksource0/current_clocksource
  for file in "$BT_ROOT"/sys/devices/system/cpu/vulnerabilities/*; do
    bt_get "$file" || continue
    line=$BT_GOT name=${file##*/}
    case $line in
      'Not affected'*) ;;
      *ulnerable* | Mitigation*) bt_say "vulnerability=$name ${line%%[!A-Za-z]*}" ;;
    esac
  done
}

bt_cpuinfo() { # of the first processor: whether it is virtual, and its ids if it has no name
  local line=''
  while read -r line; do
    case $line in
      '') break ;;
      flags*' hypervisor'*) bt_say cpu_hypervisor=1; break ;;
      flags*) bt_say cpu_hypervisor=0; break ;;
      'CPU implementer'*) bt_say "cpu_implementer=${line#*: }" ;;
      'CPU part'*) bt_say "cpu_part=${line#*: }" ;;
    esac
  done 2>/dev/null <"$BT_ROOT/proc/cpuinfo"
}

# ---- CPU and memory --------------------------------------------------------------------------------------------

bt_different() { # FILE...: number of distinct contents; nothing if no file exists
  [ -e "$1" ] && sort -u "$@" 2>/dev/null | wc -l
}

bt_facts_cpu() {
  local cpu="$BT_ROOT/sys/devices/system/cpu" line='' dir=''
  bt_kv sockets "$(bt_different "$cpu"/cpu[0-9]*/topology/physical_package_id)"
  bt_kv cores "$(bt_different "$cpu"/cpu[0-9]*/topology/thread_siblings_list)"
  # `read` of dash asks for a byte at a time, which the kernel answers for such lists with nothing
  cd "$BT_ROOT/sys/devices/system/node" 2>/dev/null &&
    grep -s -e '^[0-9][-0-9,]*$' -e MemTotal: node[0-9]*/cpulist node[0-9]*/meminfo | while read -r line; do
      bt_say "node=${line%%/*} ${line#*:}"
    done
  set -- "$cpu"/cpufreq/policy*/scaling_governor
  [ -e "$1" ] || set -- "$cpu"/cpu[0-9]*/cpufreq/scaling_governor
  if [ -e "$1" ]; then sort -u "$@" 2>/dev/null | while read -r line; do bt_say "governor=$line"; done
  else bt_why governor absent /sys/devices/system/cpu/cpufreq
  fi
  dir=${1%/*} dir=${dir#"$BT_ROOT"}
  bt_read_if cpufreq_driver "$dir/scaling_driver"
  bt_read_if energy_preference "$dir/energy_performance_preference"
  bt_read_if no_turbo /sys/devices/system/cpu/intel_pstate/no_turbo
  bt_read_if boost /sys/devices/system/cpu/cpufreq/boost
}

bt_facts_idle() { # C-states
  local dir=''
  bt_read idle_driver /sys/devices/system/cpu/cpuidle/current_driver
  for dir in "$BT_ROOT"/sys/devices/system/cpu/cpu0/cpuidle/state[0-9]*; do
    [ -d "$dir" ] || continue
    bt_col_of name "$dir/name"
    bt_col_of latency_us "$dir/latency"
    bt_col_of disabled "$dir/disable"
    bt_row cstates
  done
}

bt_facts_memory() {
  local key='' value='' rest=''
  while read -r key value rest; do
    case $key in
      SwapTotal:) bt_kv swap_kib "$value" ;;
      SwapFree:) bt_kv swap_free_kib "$value" ;;
      HugePages_Total:) bt_kv hugepages "$value" ;;
      Hugepagesize:) bt_kv hugepage_kib "$value" ;;
    esac
  done 2>/dev/null <"$BT_ROOT/proc/meminfo"
  bt_read transparent_hugepages /sys/kernel/mm/transparent_hugepage/enabled
}

# ---- limits and settings ---------------------------------------------------------------------------------------

bt_facts_limits() {
  local line=''
  while read -r line; do
    case $line in
      'Max open files'*) bt_kv limit_nofile "${line#Max open files}" ;;
      'Max locked memory'*) bt_kv limit_memlock "${line#Max locked memory}" ;;
    esac
  done 2>/dev/null <"$BT_ROOT/proc/self/limits"
  while read -r line; do
    case $line in Cpus_allowed_list:*) bt_kv cpus_allowed "${line#*:}"; break ;; esac
  done 2>/dev/null <"$BT_ROOT/proc/self/status"
}

bt_facts_cgroup() { # limits of our control group and its visible parents; the lowest applies
  local line='' names='' path=''
  while read -r line; do
    line=${line#*:} names=,${line%%:*}, path=${line#*:}
    case $names in
      ,,)
        [ ! -e "$BT_ROOT/sys/fs/cgroup/cgroup.controllers" ] || bt_upwards v2 /sys/fs/cgroup "$path"
        ;;
      *,cpu,*) bt_upwards v1_cpu /sys/fs/cgroup/cpu "$path" ;;
      *,memory,*) bt_upwards v1_memory /sys/fs/cgroup/memory "$path" ;;
      *,blkio,*) bt_upwards v1_blkio /sys/fs/cgroup/blkio "$path" ;;
    esac
  done 2>/dev/null <"$BT_ROOT/proc/self/cgroup"
}

bt_upwards() { # KIND MOUNT PATH: reads a control group and those above it
  local path="${3%/}"
  [ -d "$BT_ROOT$2" ] || return 0
  bt_say "cgroup_version=${1%%_*}"
  while :; do
    [ ! -d "$BT_ROOT$2$path" ] || "bt_cgroup_$1" "$BT_ROOT$2$path"
    case $path in */*) path=${path%/*} ;; *) break ;; esac
  done
}

bt_cgroup_v2() { # DIRECTORY
  if bt_get "$1/cpu.max"; then bt_kv cgroup_cpu "$BT_GOT"; fi
  if bt_get "$1/memory.max"; then bt_kv cgroup_memory "$BT_GOT"; fi
  if bt_get "$1/memory.high"; then bt_kv cgroup_memory "$BT_GOT"; fi
  bt_cgroup_io "$1/io.max" ''
}

bt_cgroup_io() { # FILE PREFIX
  local line=''
  [ -e "$1" ] || return 0
  while read -r line; do bt_kv cgroup_io "$2$line"; done 2>/dev/null <"$1"
}

bt_cgroup_v1_cpu() { # DIRECTORY
  local quota=''
  bt_get "$1/cpu.cfs_quota_us" || return 0
  quota=$BT_GOT
  if bt_get "$1/cpu.cfs_period_us"; then bt_kv cgroup_cpu "$quota $BT_GOT"; fi
}

bt_cgroup_v1_memory() { if bt_get "$1/memory.limit_in_bytes"; then bt_kv cgroup_memory "$BT_GOT"; fi; } # DIRECTORY

bt_cgroup_v1_blkio() { # DIRECTORY
  local what=''
  for what in read_bps write_bps read_iops write_iops; do
    bt_cgroup_io "$1/blkio.throttle.${what}_device" "$what "
  done
}

bt_facts_sysctls() { # by one grep: the kernel answers dash, which reads byte after byte, with the first one alone
  local line=''
  cd "$BT_ROOT/proc/sys" 2>/dev/null || { bt_why sysctls absent /proc/sys; return 0; }
  grep -s '' vm/dirty_ratio vm/dirty_background_ratio vm/dirty_bytes vm/dirty_background_bytes \
    vm/dirty_expire_centisecs vm/dirty_writeback_centisecs vm/swappiness vm/zone_reclaim_mode \
    vm/vfs_cache_pressure kernel/numa_balancing kernel/io_uring_disabled fs/aio-max-nr \
    net/core/rmem_max net/core/wmem_max net/core/rmem_default net/core/wmem_default net/core/netdev_max_backlog \
    net/core/default_qdisc net/core/busy_poll net/ipv4/tcp_rmem net/ipv4/tcp_wmem net/ipv4/tcp_congestion_control \
    net/ipv4/tcp_mtu_probing net/ipv4/tcp_timestamps net/ipv4/tcp_sack net/ipv4/tcp_window_scaling \
    sunrpc/tcp_slot_table_entries sunrpc/tcp_max_slot_table_entries sunrpc/rdma_slot_table_entries |
    while read -r line; do bt_say "sysctl=${line%%:*} ${line#*:}"; done
}

# ---- programs --------------------------------------------------------------------------------------------------

bt_facts_running() { # COUNT COMMAND...: running load generators, including these commands, but for those that bt_limited asks
  local line='' names='' count="$1" # a regular expression of names
  while [ "$count" -gt 0 ]; do
    shift; count=$((count - 1))
    case ${1##*/} in *[!A-Za-z0-9._-]*) ;; *) names="$names${1##*/}|" ;; esac
  done
  grep -sxE "$names"'ior|IOR|elbencho|vdbench|iozone|bonnie\+\+|dd|sysbench|filebench|dbench|smallfile|stress|stress-ng|iperf|iperf3|qperf|ib_(read|write|send)_(bw|lat)|warp|pgbench|rados|mpiexec|mpirun|orted|hydra_pmi_proxy' \
    "$BT_ROOT"/proc/[0-9]*/comm /dev/null | sed 40q | while read -r line; do
    line=${line#"$BT_ROOT"/proc/}
    ! grep -qsF BENCHTUI_TASK=look- "$BT_ROOT/proc/${line%%/*}/environ" || continue
    bt_say "running=pid=${line%%/*}${BT_TAB}name=${line#*:}"
  done
}

bt_facts_checksum() { # INDEX COMMAND
  local path='' sum=''
  path=$(command -v -- "$2" 2>/dev/null)
  case $path in /*) ;; *) return 0 ;; esac
  if command -v sha256sum >/dev/null 2>&1; then sum=$(sha256sum -- "$path" 2>/dev/null)
  elif command -v openssl >/dev/null 2>&1; then sum=$(openssl dgst -sha256 -r "$path" 2>/dev/null)
  fi
  bt_kv "checksum.$1" "${sum%% *}"
  bt_package "$1" "$(readlink -f -- "$path" 2>/dev/null)" "${sum%% *}"
}

bt_package() { # INDEX FILE SHA256: the package of this one file, and whether it is as packaged; nothing where none owns it
  local line='' package='' sum="$3"
  case $2 in '' | *[!A-Za-z0-9/._-]*) return 0 ;; esac
  if [ -d "$BT_ROOT/var/lib/dpkg/info" ]; then
    line=$(bt_in_dpkg "$2" "${2##*/}*.md5sums") line=${line:-$(bt_in_dpkg "$2" '*.md5sums')}
    package=${line%%.md5sums:*} line=${line#*.md5sums:}
    package=${package##*/} line=${line%% *}
  elif command -v rpm >/dev/null 2>&1; then
    line=$(rpm -qf --qf '[%{=NAME} %{FILENAMES} %{FILEDIGESTS}\n]' -- "$2" 2>/dev/null | grep -F " $2 " | sed 1q)
    package=${line%% *} line=${line##* }
  fi
  [ "${#line}" != 32 ] || sum=$(md5sum -- "$2" 2>/dev/null)
  case ${#line} in 32 | 64) [ -n "$sum" ] || return 0 ;; *) return 0 ;; esac
  bt_say "package.$1=$package"
  if [ "$line" = "${sum%% *}" ]; then bt_say "intact.$1=1"; else bt_say "intact.$1=0"; fi
}

bt_in_dpkg() { # FILE PATTERN: the line of a file in the lists of checksums, which may be of before /bin was /usr/bin
  # shellcheck disable=SC2086  # a pattern
  cd "$BT_ROOT/var/lib/dpkg/info" && grep -sHE -m 1 "^[0-9a-f]{32}  (${1#/}|${1#/usr/})\$" $2 </dev/null | sed 1q
}
