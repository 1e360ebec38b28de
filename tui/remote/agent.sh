# benchtui agent: POSIX sh, sent over stdin to /bin/sh on every host. Nothing is installed.
#
# This file only defines functions. The client appends one `{ bt_begin ...; bt_COMMAND ...; bt_end 0; }` group, so a
# script that was cut anywhere is a syntax error or a list of unused functions, and does nothing.
#
# Arithmetic stays below 2^31, which is all that mksh has: sizes are printed in the unit they were read in (_kib,
# _sectors) and multiplied by the client.
#
# Answers are KEY=VALUE lines between `BT-BEGIN token` and `BT-END token code`; a value ends at its newline.
# Every process of a load carries BENCHTUI_RUN, BENCHTUI_HOST and BENCHTUI_TASK in its environment: fio's workers call
# setsid(), so neither a process group nor a session holds them together.

BT_NL='
'
PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin
LC_ALL=C
export PATH LC_ALL

# ---- answers ---------------------------------------------------------------------------------------------------

bt_say() { printf '%s\n' "$*"; }
case ${KSH_VERSION-} in ?*) bt_say() { print -r -- "$*"; } ;; esac

bt_kv() { # KEY VALUE
  case $2 in
    *"$BT_NL"*) bt_say "$1=$(bt_say "$2" | tr '\n' ' ')" ;;
    *) bt_say "$1=$2" ;;
  esac
}

bt_begin() { BT_TOKEN=$1; bt_say "BT-BEGIN $BT_TOKEN"; }
bt_end() { bt_say "BT-END $BT_TOKEN $1"; exit "$1"; }
bt_die() { bt_kv error "$1"; bt_end 1; }

# ---- files and processes ---------------------------------------------------------------------------------------

bt_put() { bt_say "$2" >".$1.$$" && mv -f ".$1.$$" "$1"; } # NAME LINE: readers see the old line or the new one

bt_get() { # FILE: sets BT_GOT to its first line, empty when there is none
  BT_GOT=
  [ -e "$1" ] || return 1
  read -r BT_GOT 2>/dev/null <"$1"
  return 0
}

bt_nap() { sleep "$1" 2>/dev/null || sleep 1; } # not every sleep takes fractions

bt_uptime() { # sets BT_UP: seconds that no clock step changes
  if read -r BT_UP BT_X 2>/dev/null </proc/uptime; then BT_UP=${BT_UP%%.*}; else BT_UP=$(date +%s); fi
}

bt_proc() { # PID: sets BT_START and BT_PGRP; fails when it is gone or a zombie
  BT_START=0 BT_PGRP=0 BT_S=
  [ -n "$1" ] || return 1
  read -r BT_S 2>/dev/null <"/proc/$1/stat" || return 1
  case $BT_S in *') '*) ;; *) BT_S=$(tr '\n' ' ' 2>/dev/null <"/proc/$1/stat") ;; esac
  set -- ${BT_S##*') '}
  case ${1:-X} in Z | X | x) return 1 ;; esac
  BT_PGRP=$3 BT_START=${20}
}

bt_alive() { bt_proc "$1" && [ "$BT_START" = "$2" ]; } # PID START: the same process, not a later one of that number

bt_size() { # FILE: sets BT_SIZE
  BT_SIZE=$(stat -c %s -- "$1" 2>/dev/null) && return 0
  BT_S=$(ls -ldn -- "$1" 2>/dev/null) || { BT_SIZE=0; return 1; }
  set -f; set -- $BT_S; set +f
  BT_SIZE=$5
}

bt_marked() { # MARK...: prints `PID START` of every process that has all of these in its environment
  for BT_F in $(grep -lsF -- "$1" /proc/[0-9]*/environ 2>/dev/null); do
    BT_P=${BT_F#/proc/} BT_P=${BT_P%/environ}
    [ "$BT_P" != $$ ] && bt_proc "$BT_P" || continue
    BT_FOUND=$BT_START
    for BT_M; do
      tr '\0' '\n' 2>/dev/null <"$BT_F" | grep -qxF -- "$BT_M" || continue 2
    done
    bt_alive "$BT_P" "$BT_FOUND" && bt_say "$BT_P $BT_FOUND"
  done
}

bt_kill_marked() { # MARK...: SIGKILL until none is left; sets BT_LEFT to the number that will not die
  BT_N=0 BT_LEFT=0
  while :; do
    BT_LIST=$(bt_marked "$@")
    [ -n "$BT_LIST" ] || return 0
    [ "$BT_N" -lt 30 ] || break
    bt_say "$BT_LIST" | while read -r BT_P BT_T; do bt_alive "$BT_P" "$BT_T" && kill -KILL "$BT_P" 2>/dev/null; done
    BT_N=$((BT_N + 1))
    bt_nap 0.1
  done
  BT_LEFT=$(bt_say "$BT_LIST" | grep -c .)
}

# ---- private directories ---------------------------------------------------------------------------------------

bt_base() { # sets BT_BASE, ours and closed to others
  BT_BASE=/tmp/.benchtui-$(id -u)
  mkdir -m 700 "$BT_BASE" 2>/dev/null
  if [ -L "$BT_BASE" ] || [ ! -d "$BT_BASE" ] || [ ! -O "$BT_BASE" ]; then
    bt_die "$BT_BASE is not a directory of this user: somebody else made it"
  fi
}

bt_name() { # WORD...: each must be a plain file name
  for BT_W; do
    case $BT_W in '' | .* | *[!A-Za-z0-9._-]*) bt_die "bad name: $BT_W" ;; esac
  done
}

bt_task() { # RUN HOST TASK: goes to the task's directory
  bt_name "$@"
  bt_base
  BT_DIR=$BT_BASE/$1/$2/$3
  cd "$BT_DIR" 2>/dev/null || bt_die "no task $3 of run $1 on this host"
}

bt_record() { # sets BT_SUP, BT_SUP_START, BT_EPOCH, BT_BOOT of the task in the current directory
  BT_SUP= BT_SUP_START= BT_EPOCH= BT_BOOT=
  [ -e pid ] && read -r BT_SUP BT_SUP_START BT_EPOCH BT_BOOT 2>/dev/null <pid
}

bt_boot_id() { bt_get /proc/sys/kernel/random/boot_id || BT_GOT=unknown; }

bt_supervised() { # is the supervisor of the task in the current directory alive?
  bt_record && bt_boot_id && [ "$BT_BOOT" = "$BT_GOT" ] && bt_alive "$BT_SUP" "$BT_SUP_START"
}

# ---- probe -----------------------------------------------------------------------------------------------------

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

# ---- files -----------------------------------------------------------------------------------------------------

bt_files() { # PATH...: a map of 1 (is there) and 0, then size, blocks, block size and mode of those that are
  BT_MAP= BT_N=0
  for BT_F; do
    shift
    if [ -e "$BT_F" ]; then BT_MAP=${BT_MAP}1 BT_N=$((BT_N + 1)); set -- "$@" "$BT_F"; else BT_MAP=${BT_MAP}0; fi
  done
  BT_OUT=
  if [ "$BT_N" -gt 0 ]; then
    BT_OUT=$(stat -L -c '%s %b %B %f' -- "$@" 2>/dev/null)
    [ "$(bt_say "$BT_OUT" | grep -c .)" = "$BT_N" ] || BT_OUT=$(for BT_F; do bt_file "$BT_F"; done)
  fi
  bt_say "map=$BT_MAP"
  [ -z "$BT_OUT" ] || bt_say "$BT_OUT"
}

bt_file() { # PATH: one line, also where stat has no -c, or when the file has just gone
  stat -L -c '%s %b %B %f' -- "$1" 2>/dev/null && return
  bt_size "$1" || { bt_say "- - -"; return; }
  BT_V=$(du -k -- "$1" 2>/dev/null)
  BT_V=${BT_V%%[!0-9]*}
  bt_say "$BT_SIZE ${BT_V:-0} 1024"
}

bt_mkdirs() { # OFFSET DIR...: parents first; reports the numbers of those that were created
  BT_I=$1; shift
  for BT_D; do
    if [ ! -d "$BT_D" ]; then
      BT_S=$(mkdir -- "$BT_D" 2>&1) && bt_say "created=$BT_I" || bt_die "$BT_S"
    fi
    BT_I=$((BT_I + 1))
  done
}

bt_remove() { # OFFSET FILE...: regular files only; reports the numbers of those that are gone now
  BT_I=$1 BT_MAP=; shift
  for BT_F; do if [ -f "$BT_F" ] && [ ! -L "$BT_F" ]; then BT_MAP=${BT_MAP}1; else BT_MAP=${BT_MAP}0; fi; done
  BT_REST=$BT_MAP
  for BT_F; do # keeps the regular ones as arguments
    shift
    case $BT_REST in 1*) set -- "$@" "$BT_F" ;; *) set -- "$@" '' ;; esac
    BT_REST=${BT_REST#?}
  done
  bt_rm "$@"
  for BT_F; do
    if [ -n "$BT_F" ] && [ ! -e "$BT_F" ]; then bt_say "removed=$BT_I"; fi
    BT_I=$((BT_I + 1))
  done
}

bt_rm() { # FILE...: empty words are none
  for BT_F; do shift; [ -z "$BT_F" ] || set -- "$@" "$BT_F"; done
  [ $# -eq 0 ] || rm -f -- "$@" 2>/dev/null
}

bt_remove_numbered() { # PREFIX SUFFIX COUNT: empty plain files with a number below COUNT between both
  BT_A=$1 BT_Z=$2 BT_C=$3
  set --
  for BT_F in "$BT_A"[0-9]*"$BT_Z"; do
    bt_is_numbered && [ -f "$BT_F" ] && [ ! -L "$BT_F" ] && [ ! -s "$BT_F" ] || continue
    set -- "$@" "$BT_F"
    [ $# -lt 200 ] || { rm -f -- "$@" 2>/dev/null; set --; }
  done
  [ $# -eq 0 ] || rm -f -- "$@" 2>/dev/null
  bt_numbered "$BT_A" "$BT_Z" "$BT_C"
}

bt_numbered() { # PREFIX SUFFIX COUNT: how many of these numbers there are; the first, and the first that is not empty
  BT_A=$1 BT_Z=$2 BT_C=$3 BT_N=0 BT_X= BT_Y=
  for BT_F in "$BT_A"[0-9]*"$BT_Z"; do
    bt_is_numbered || continue
    [ -e "$BT_F" ] || [ -L "$BT_F" ] || continue
    BT_N=$((BT_N + 1)) BT_X=${BT_X:-$BT_F}
    [ -n "$BT_Y" ] || { [ -f "$BT_F" ] && [ ! -L "$BT_F" ] && [ ! -s "$BT_F" ]; } || BT_Y=$BT_F
  done
  bt_kv left "$BT_N"
  bt_kv first "$BT_X"
  bt_kv full "$BT_Y"
}

bt_is_numbered() { # whether a number as fio writes it, and below BT_C, stands between BT_A and BT_Z in BT_F
  BT_V=${BT_F#"$BT_A"} BT_V=${BT_V%"$BT_Z"}
  case $BT_V in '' | *[!0-9]* | 0?*) return 1 ;; esac
  [ ${#BT_V} -le ${#BT_C} ] && [ "$BT_V" -lt "$BT_C" ] # a longer number may not fit the shell's arithmetic
}

bt_rmdirs() { # OFFSET DIR...: only empty ones; reports the numbers of those that are gone now
  BT_I=$1; shift
  for BT_D; do
    if [ -d "$BT_D" ] && [ ! -L "$BT_D" ] && rmdir -- "$BT_D" 2>/dev/null; then bt_say "removed=$BT_I"; fi
    BT_I=$((BT_I + 1))
  done
}

bt_drop_caches() {
  sync
  if [ "$(id -u)" = 0 ]; then
    BT_METHOD=root
    BT_S=$( (echo 3 >/proc/sys/vm/drop_caches) 2>&1)
  elif command -v sudo >/dev/null 2>&1; then
    BT_METHOD=sudo
    BT_S=$(sudo -n sh -c 'echo 3 >/proc/sys/vm/drop_caches' 2>&1 </dev/null)
  else
    BT_METHOD=none BT_S='not root, and there is no sudo'
    false
  fi
  BT_N=$?
  bt_kv method "$BT_METHOD"
  bt_kv ok "$([ "$BT_N" = 0 ] && bt_say 1)"
  bt_kv detail "$BT_S"
}

bt_forget() { # FILE...: have the kernel drop the cached pages of these files; any user may, for files it can read
  sync
  BT_N=0
  for BT_F; do
    [ -f "$BT_F" ] || continue
    BT_S=$(dd if="$BT_F" of=/dev/null iflag=nocache count=0 2>&1) || { bt_kv failed "$BT_S"; return; }
    BT_N=$((BT_N + 1))
  done
  bt_kv forgotten "$BT_N"
}

# ---- tasks -----------------------------------------------------------------------------------------------------

bt_start() { # RUN HOST TASK LEASE GRACE ARMED NFILES [NAME TEXT]... ARGV...
  bt_name "$1" "$2" "$3"
  BT_RUN=$1 BT_HOST=$2 BT_TASK=$3 BT_LEASE=$4 BT_GRACE=$5 BT_ARMED=$6 BT_N=$7
  shift 7
  BT_UMASK=$(umask) # the load keeps it; what we write is for this user alone
  umask 077
  bt_base
  BT_DIR=$BT_BASE/$BT_RUN/$BT_HOST/$BT_TASK
  BT_NEW=1
  mkdir -p "$BT_BASE/$BT_RUN/$BT_HOST" || bt_die "cannot make $BT_BASE/$BT_RUN/$BT_HOST"
  mkdir "$BT_DIR" 2>/dev/null || BT_NEW=0 # atomic: a repeated start starts nothing
  cd "$BT_DIR" || bt_die "cannot enter $BT_DIR"
  if [ "$BT_NEW" = 1 ]; then
    while [ "$BT_N" -gt 0 ]; do
      bt_name "$1"
      cat >"$1" <<BT_EOF || bt_die "cannot write $BT_DIR/$1"
$2
BT_EOF
      shift 2
      BT_N=$((BT_N - 1))
    done
    : >out && : >err && echo 0 >lease || bt_die "cannot write to $BT_DIR"
    dd if=/dev/zero of=reserve bs=4096 count=4 2>/dev/null || bt_die "cannot write to $BT_DIR: no room for 16 KiB"
    [ "$BT_ARMED" = 0 ] || mkfifo go || bt_die "cannot make a FIFO in $BT_DIR"
    bt_spawn "$@"
  fi
  bt_wait_started
  bt_kv dir "$BT_DIR"
  bt_kv new "$BT_NEW"
}

bt_spawn() { # ARGV...: the supervisor in a session of its own where setsid exists
  BT_SH=${BENCHTUI_SH:-/bin/sh}
  BT_SETSID=
  [ "${BENCHTUI_SETSID:-yes}" = no ] || BT_SETSID=$(command -v setsid 2>/dev/null)
  $BT_SETSID $BT_SH -c '. ./agent.sh; bt_supervise "$@"' benchtui-agent \
    "$BT_RUN" "$BT_HOST" "$BT_TASK" "$BT_LEASE" "$BT_GRACE" "$BT_ARMED" "$BT_UMASK" "$@" </dev/null >/dev/null 2>sup.log &
}

bt_wait_started() {
  BT_N=0
  while [ ! -e done ]; do
    if [ -e pid ] && { [ "$BT_ARMED" = 0 ] || [ -e armed ]; }; then return; fi
    [ "$BT_N" -lt 200 ] || bt_die "the supervisor did not start: $(tail -n 1 sup.log 2>/dev/null)"
    BT_N=$((BT_N + 1))
    bt_nap 0.05
  done
}

bt_supervise() { # RUN HOST TASK LEASE GRACE ARMED UMASK ARGV...: in the task's directory, until the load is over
  BT_RUN=$1 BT_HOST=$2 BT_TASK=$3 BT_LEASE=$4 BT_GRACE=$5 BT_ARMED=$6 BT_UMASK=$7
  shift 7
  trap : HUP INT TERM PIPE USR1 # caught, not ignored: the load gets the default ones
  umask 077
  exec </dev/null >>sup.log 2>&1
  [ "$BT_ARMED" = 0 ] || exec 5<>go # held open, so that a word written early is not lost
  (bt_run_load "$@") &
  BT_RUNNER=$!
  bt_proc $$
  BT_T=$BT_START
  bt_boot_id
  bt_put pid "$$ $BT_T $(date +%s) $BT_GOT"
  (bt_guard) &
  bt_watch
  bt_finish
  exit 0
}

bt_full() { # is there no room for another file here? Then output is lost, and so is every word that is written
  if bt_say x 2>/dev/null >room; then rm -f room; return 1; fi
}

bt_finish() { # ends what is left of the load, and says why it ended
  if bt_full; then BT_WHY=spool-full; fi
  bt_put reason "$BT_WHY"
  [ "$BT_WHY" = exit ] || bt_end_load
  bt_kill_marked "BENCHTUI_TASK=$BT_TASK" "BENCHTUI_RUN=$BT_RUN" "BENCHTUI_HOST=$BT_HOST"
  rm -f reserve # room for our last words, now that the load cannot take it
  bt_put reason "$BT_WHY"
  bt_await_exit 2
  [ -e exit ] || bt_put exit unknown
  bt_put left "$BT_LEFT"
  bt_put done "$BT_WHY"
}

bt_guard() { # a supervisor that was killed watches no lease: its load must end all the same
  while bt_alive "$$" "$BT_T"; do
    [ ! -e done ] || exit 0
    bt_nap 2
  done
  [ ! -e done ] || exit 0
  BT_WHY=supervisor-died
  bt_finish
}

bt_run_load() { # ARGV...: waits for GO when armed, runs the load, records its exit code
  trap : HUP INT TERM PIPE USR1
  echo 500 2>/dev/null >/proc/self/oom_score_adj # the load goes before the storage client does
  BENCHTUI_RUN=$BT_RUN BENCHTUI_HOST=$BT_HOST BENCHTUI_TASK=$BT_TASK
  export BENCHTUI_RUN BENCHTUI_HOST BENCHTUI_TASK
  if [ "$BT_ARMED" != 0 ]; then
    bt_put armed 1
    BT_WORD=
    until [ "$BT_WORD" = go ] || [ "$BT_WORD" = no ]; do read -r BT_WORD <&5; done
    exec 5<&-
    if [ "$BT_WORD" = no ]; then bt_put exit unknown; kill -USR1 $$; exit 0; fi
  fi
  umask "$BT_UMASK"
  "$@" </dev/null >>out 2>>err &
  BT_LOAD=$!
  umask 077
  bt_proc "$BT_LOAD"
  bt_put load "$BT_LOAD $BT_START"
  while :; do # wait returns early, above 128, when a trapped signal comes
    wait "$BT_LOAD"
    BT_CODE=$?
    [ "$BT_CODE" -gt 128 ] && kill -0 "$BT_LOAD" 2>/dev/null || break
  done
  BT_N=0
  until bt_put exit "$BT_CODE" || [ "$BT_N" -ge 20 ]; do BT_N=$((BT_N + 1)); bt_nap 0.5; done # the supervisor makes room
  kill -USR1 $$
}

bt_tick() { # SECONDS: a sleep that a signal ends
  sleep "$1" &
  BT_S=$!
  wait "$BT_S" || kill "$BT_S" 2>/dev/null
}

bt_watch() { # until the load ended or must end: sets BT_WHY
  bt_uptime
  BT_SINCE=$BT_UP BT_LAST= BT_N=0
  while :; do
    BT_N=$((BT_N + 1))
    if [ $((BT_N % 4)) = 0 ] && bt_full; then BT_WHY=spool-full; return; fi
    if [ -e exit ]; then BT_WHY=exit; return; fi
    if bt_get stop; then BT_WHY=$BT_GOT; return; fi
    if ! bt_proc "$BT_RUNNER" && [ ! -e exit ]; then BT_WHY=runner-died; return; fi
    bt_get lease
    bt_uptime
    if [ "$BT_GOT" != "$BT_LAST" ]; then BT_LAST=$BT_GOT BT_SINCE=$BT_UP; fi
    if [ $((BT_UP - BT_SINCE)) -ge "$BT_LEASE" ]; then BT_WHY=lease; return; fi
    bt_tick 1
  done
}

bt_end_load() { # asks, insists, kills; `out` is a file, so the load can always write its last words
  if [ "$BT_WHY" = abort ]; then BT_GRACE=1; fi
  if [ ! -e load ] && [ -p go ]; then
    { bt_say no; bt_say no; bt_say no; } 1<>go # a signal may cut a word that is just being read
    bt_await_exit 2
  fi
  BT_LOAD= BT_T=
  [ -e load ] && read -r BT_LOAD BT_T <load
  bt_signal_load "$(bt_polite)"
  bt_await_exit "$BT_GRACE"
  bt_signal_load TERM
  bt_await_exit 2
  bt_signal_load KILL
}

bt_polite() { # INT, which fio answers with its results; TERM where the load ignores INT or must end at once
  BT_K=
  [ "$BT_WHY" = abort ] || while read -r BT_K BT_V; do [ "$BT_K" = SigIgn: ] && break; done 2>/dev/null <"/proc/$BT_LOAD/status"
  if [ "$BT_K" = SigIgn: ]; then
    case $BT_V in *[014589cdCD]) bt_say INT; return ;; esac # bit 1 of the last digit is SIGINT
  fi
  bt_say TERM
}

bt_signal_load() { if bt_alive "$BT_LOAD" "$BT_T"; then kill -"$1" "$BT_LOAD" 2>/dev/null; fi; }

bt_load_over() { # while the reserve is there and nothing else, the runner cannot write down an exit code
  [ -e exit ] || { ! bt_alive "${BT_LOAD:-}" "${BT_T:-}" && { [ "$BT_WHY" = spool-full ] && [ -e reserve ] || ! bt_proc "$BT_RUNNER"; }; }
}

bt_await_exit() { # SECONDS
  bt_uptime
  BT_UNTIL=$((BT_UP + $1))
  while ! bt_load_over && [ "$BT_UP" -lt "$BT_UNTIL" ]; do
    bt_tick 1
    if bt_overtaken; then return; fi
    bt_uptime
  done
}

bt_overtaken() { # an abort that comes while a stop gives the load its time
  [ "$BT_WHY" = stop ] && bt_get stop && [ "$BT_GOT" = abort ] && BT_WHY=abort
}

# ---- the stream ------------------------------------------------------------------------------------------------

bt_stream() { # RUN HOST TASK OUT_FROM ERR_FROM GENERATION: the first byte of each file is number 1
  bt_task "$1" "$2" "$3"
  BT_OUT=$4 BT_ERR=$5 BT_GEN=$6 BT_FOR_RUN=$1 BT_FOR_HOST=$2
  bt_fence
  exec 3<out 4<&0 6<err 7>&2 2>/dev/null
  bt_proc $$
  bt_put streamer "$BT_GEN $$ $BT_START"
  bt_put lease "$BT_GEN.0"
  (bt_listen) 3<&- 6<&- 7>&- >/dev/null &
  BT_LISTENER=$!
  trap 'bt_stream_end 74' HUP INT TERM
  bt_say "BT-STREAM $BT_TOKEN"
  bt_say "BT-STREAM $BT_TOKEN" >&7
  tail -c "+$BT_OUT" <&3 || bt_stream_end 75
  tail -c "+$BT_ERR" <&6 >&7 || bt_stream_end 75
  bt_spool
  bt_stream_end 0
}

bt_fence() { # a newer stream ends the older one; an older one that arrives late does nothing
  BT_OLD=0 BT_P= BT_T=
  [ -e streamer ] && read -r BT_OLD BT_P BT_T <streamer
  expr "$BT_OLD" \< "$BT_GEN" >/dev/null || { bt_kv fenced "$BT_OLD"; bt_die "a newer controller streams this task"; }
  bt_alive "$BT_P" "$BT_T" || return 0
  if [ "$BT_PGRP" = "$BT_P" ]; then kill -s KILL -- "-$BT_P" 2>/dev/null; else kill -KILL "$BT_P" 2>/dev/null; fi
}

bt_listen() { # words of the controller; its end of file ends the streamer, never the load
  while read -r BT_WORD <&4; do
    bt_get streamer
    [ "${BT_GOT%% *}" = "$BT_GEN" ] || break
    case $BT_WORD in
      go) [ -p go ] && bt_say go 1<>go ;;
      stop | abort) (bt_stop_here "$BT_WORD") ;;
      lease\ *) bt_put lease "$BT_GEN.${BT_WORD#lease }"; (bt_lock_renew "$BT_FOR_RUN" "$BT_FOR_HOST") ;;
    esac
  done
  kill -TERM $$
}

bt_spool() { # `done` is looked at before the last copy: the other way round loses the tail
  BT_N=0
  while :; do
    BT_LAST=0
    [ -e done ] && BT_LAST=1
    cat <&3 || bt_stream_end 75
    BT_N=$((BT_N + 1))
    if [ "$BT_LAST" = 1 ] || [ $((BT_N % 3)) = 0 ]; then cat <&6 >&7 || bt_stream_end 75; fi
    [ "$BT_LAST" = 0 ] || return 0
    if [ $((BT_N % 8)) = 0 ] && ! bt_supervised && [ ! -e done ]; then bt_stream_end 76; fi
    bt_nap 0.25
  done
}

bt_stream_end() { kill -KILL "$BT_LISTENER" 2>/dev/null; exit "$1"; }

# ---- looking after tasks ---------------------------------------------------------------------------------------

bt_status() { # RUN HOST TASK
  bt_task "$@"
  bt_kv done "$([ -e done ] && bt_say 1)"
  bt_kv alive "$(bt_supervised && bt_say 1)"
  BT_LOAD= BT_T=
  [ -e load ] && read -r BT_LOAD BT_T <load
  bt_kv load_alive "$(bt_alive "$BT_LOAD" "$BT_T" && bt_say 1)"
  bt_kv started "$([ -e load ] && bt_say 1)"
  bt_get exit; bt_kv exit "$BT_GOT"
  bt_get reason; bt_kv reason "$BT_GOT"
  bt_get left; bt_kv left "$BT_GOT"
  bt_record
  bt_boot_id
  bt_kv rebooted "$([ -n "$BT_BOOT" ] && [ "$BT_BOOT" != "$BT_GOT" ] && bt_say 1)"
  bt_size out; bt_kv out_bytes "$BT_SIZE"
  bt_size err; bt_kv err_bytes "$BT_SIZE"
}

bt_stop() { # RUN HOST TASK stop|abort
  bt_task "$1" "$2" "$3"
  umask 077
  bt_stop_here "$4"
  bt_kv alive "$(bt_supervised && bt_say 1)"
}

bt_stop_here() { # stop|abort: the task in the current directory
  [ ! -e done ] || return 0
  bt_get stop
  [ "$BT_GOT" = abort ] || bt_put stop "$1" # a stop that comes late does not take back an abort
  bt_supervised && kill -USR1 "$BT_SUP" 2>/dev/null
}

bt_free_spool() { # RUN HOST TASK: what it spooled, once it is over; its few last words stay
  bt_task "$1" "$2" "$3"
  [ -e done ] || bt_die "task $3 of run $1 still runs"
  rm -f out err
}

bt_processes() { # MARK...: what a sweep would end
  bt_marked "$@" | while read -r BT_P BT_T; do
    BT_LINE=$(tr '\0\n' '  ' 2>/dev/null <"/proc/$BT_P/cmdline")
    BT_ENV=$(tr '\0' '\n' 2>/dev/null <"/proc/$BT_P/environ" | grep '^BENCHTUI_[RHT]' | tr '\n' ' ')
    bt_say "process=$BT_P $BT_ENV| $BT_LINE"
  done
}

bt_sweep() { # kill|list RUN HOST: ends supervisors first, so that they cannot start what they still hold back
  bt_name "$2" "$3"
  bt_processes "BENCHTUI_RUN=$2" "BENCHTUI_HOST=$3"
  [ "$1" = kill ] || return 0
  bt_base
  for BT_DIR in "$BT_BASE/$2/$3"/*; do
    if [ -d "$BT_DIR" ] && cd "$BT_DIR"; then bt_stop_here abort; fi
  done
  bt_kill_marked "BENCHTUI_RUN=$2" "BENCHTUI_HOST=$3"
  bt_kv left "$BT_LEFT"
  bt_uptime
  BT_UNTIL=$((BT_UP + 8)) # supervisors write their records and go
  for BT_DIR in "$BT_BASE/$2/$3"/*; do
    if [ -d "$BT_DIR" ] && cd "$BT_DIR"; then
      while bt_supervised && [ "$BT_UP" -lt "$BT_UNTIL" ]; do bt_nap 0.1; bt_uptime; done
    fi
  done
}

bt_leftovers() { # every process of any of our runs that this user may look at
  for BT_F in $(grep -lsF -- BENCHTUI_RUN= /proc/[0-9]*/environ 2>/dev/null); do
    BT_P=${BT_F#/proc/} BT_P=${BT_P%/environ}
    [ "$BT_P" != $$ ] && bt_proc "$BT_P" || continue
    BT_ENV=$(tr '\0' '\n' 2>/dev/null <"$BT_F" | grep '^BENCHTUI_[RHT][A-Z]*=' | tr '\n' ' ')
    case $BT_ENV in *BENCHTUI_RUN=*) ;; *) continue ;; esac
    BT_LINE=$(tr '\0\n' '  ' 2>/dev/null <"/proc/$BT_P/cmdline")
    bt_say "process=$BT_P $BT_ENV| $BT_LINE"
  done
}

bt_list() { # every task of this user on this host
  bt_base
  bt_kv now "$(date +%s)"
  for BT_DIR in "$BT_BASE"/*/*/*; do
    [ -d "$BT_DIR" ] && cd "$BT_DIR" 2>/dev/null || continue
    bt_supervised && BT_A=1 || BT_A=0
    bt_record
    [ -e done ] && BT_F=1 || BT_F=0
    bt_say "task=$BT_A $BT_F ${BT_EPOCH:-0} ${BT_DIR#"$BT_BASE"/}"
  done
}

bt_clean() { # RUN HOST: removes its directories
  bt_name "$1" "$2"
  bt_base
  for BT_DIR in "$BT_BASE/$1/$2"/*; do
    [ -d "$BT_DIR" ] && cd "$BT_DIR" || continue
    ! bt_supervised || bt_die "task ${BT_DIR##*/} of run $1 still runs"
  done
  [ -z "$(bt_marked "BENCHTUI_RUN=$1" "BENCHTUI_HOST=$2")" ] || bt_die "processes of run $1 still run"
  cd /
  rm -rf -- "$BT_BASE/$1/$2"
  rmdir -- "$BT_BASE/$1" 2>/dev/null
  rmdir -- "$BT_BASE" 2>/dev/null
  :
}

# ---- one operator at a time ------------------------------------------------------------------------------------
# A lock is one file in a directory that every user may write to. It holds until an uptime that the stream's leases
# push on, so it goes with its run, and a reboot ends it.

bt_locks() { # sets BT_LOCKS
  BT_LOCKS=${BENCHTUI_LOCKS:-/tmp/.benchtui-locks}
  (umask 0; mkdir -m 1777 "$BT_LOCKS" 2>/dev/null)
  [ -d "$BT_LOCKS" ] && [ ! -L "$BT_LOCKS" ] || bt_die "$BT_LOCKS is not a directory"
}

bt_lock() { # RUN HOST SECONDS FORCE OWNER: takes the lock, or reports who holds it
  bt_name "$1" "$2"
  bt_locks
  bt_lock_write "$1" "$2" "$3" "$5" || bt_die "cannot write to $BT_LOCKS"
  for BT_F in "$BT_LOCKS"/lock.*; do
    bt_lock_live "$BT_F" && [ "$BT_RUN" != "$1" ] || continue
    bt_kv held_by "$BT_OWNER"
    bt_kv held_run "$BT_RUN"
    bt_kv held_s "$((BT_UNTIL - BT_UP))"
    [ "$4" = 1 ] || rm -f "$BT_LOCKS/lock.$(id -u).$1.$2"
    return 0
  done
}

bt_lock_write() { # RUN HOST SECONDS OWNER
  bt_boot_id
  bt_uptime
  # everybody may write there: a name that somebody laid in wait is removed, and never followed (set -C is O_EXCL)
  (umask 022; cd "$BT_LOCKS" && BT_F=lock.$(id -u).$1.$2 && rm -f ".$BT_F.$$" && set -C &&
    bt_put "$BT_F" "$((BT_UP + $3)) $BT_GOT $3 $1 $4")
}

bt_lock_live() { # FILE: sets BT_UNTIL, BT_RUN and BT_OWNER of a lock that holds; clears away our own old ones
  BT_UNTIL=0 BT_RUN= BT_OWNER= BT_BOOT=
  [ -f "$1" ] && read -r BT_UNTIL BT_BOOT BT_X BT_RUN BT_OWNER 2>/dev/null <"$1" || return 1
  bt_boot_id
  bt_uptime
  case $BT_UNTIL in '' | *[!0-9]*) return 1 ;; esac
  [ "$BT_BOOT" = "$BT_GOT" ] && [ "$BT_UNTIL" -gt "$BT_UP" ] && return 0
  rm -f "$1" 2>/dev/null
  return 1
}

bt_lock_renew() { # RUN HOST: pushes on the lock that this user holds for a run
  BT_LOCKS=${BENCHTUI_LOCKS:-/tmp/.benchtui-locks}
  BT_F=$BT_LOCKS/lock.$(id -u).$1.$2
  [ -f "$BT_F" ] && read -r BT_UNTIL BT_BOOT BT_N BT_RUN BT_OWNER 2>/dev/null <"$BT_F" || return 0
  bt_lock_write "$1" "$2" "$BT_N" "$BT_OWNER" 2>/dev/null
}

bt_unlock() { # RUN HOST
  bt_name "$1" "$2"
  bt_locks
  rm -f "$BT_LOCKS/lock.$(id -u).$1.$2"
  rmdir "$BT_LOCKS" 2>/dev/null
  :
}

# ---- clock -----------------------------------------------------------------------------------------------------

bt_clock() { # answers every line with the time, until its input ends
  bt_say "BT-CLOCK $BT_TOKEN"
  while read -r BT_X; do date +%s.%N; done
}
