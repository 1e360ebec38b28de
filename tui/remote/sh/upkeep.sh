# Looking after tasks: status, stop, sweep, removal.

bt_status() { # RUN HOST TASK
  bt_task "$@"
  bt_flag done [ -e done ]
  bt_flag alive bt_supervised
  bt_flag started [ -e load ]
  bt_get exit; bt_kv exit "$BT_GOT"
  bt_get reason; bt_kv reason "$BT_GOT"
  bt_get left; bt_kv left "$BT_GOT"
  bt_get flood; bt_kv flood "$BT_GOT"
  bt_record
  bt_boot_id
  bt_flag rebooted [ "${BT_BOOT:-$BT_GOT}" != "$BT_GOT" ]
  bt_size out; bt_kv out_bytes "$BT_SIZE"
  bt_size err; bt_kv err_bytes "$BT_SIZE"
}

bt_stop() { # RUN HOST TASK stop|abort
  bt_task "$1" "$2" "$3"
  bt_stop_here "$4"
  bt_flag alive bt_supervised
}

bt_stop_here() { # stop|abort: the task in the current directory
  [ ! -e done ] || return 0
  bt_get stop
  [ "$BT_GOT" = abort ] || bt_put stop "$1" # a late stop does not cancel an abort
  bt_supervised && kill -USR1 "$BT_SUP" 2>/dev/null
}

bt_free_spool() { # RUN HOST TASK: removes the output of an ended task; exit code and reason stay
  bt_task "$1" "$2" "$3"
  [ -e done ] || bt_die "task $3 of run $1 is still running"
  rm -f out err
}

# ---- processes -------------------------------------------------------------------------------------------------

bt_say_process() { # PID MARKS
  bt_say "process=$1 $2 | $(tr '\0\n' '  ' 2>/dev/null <"/proc/$1/cmdline")"
}

bt_say_loads() { # MARK...: the processes of loads with these marks
  local each='' marks=''
  for each in $(bt_marked "$@"); do
    marks=$(bt_environ "${each%:*}" | grep '^BENCHTUI_[RHT]' | tr '\n' ' ')
    [ -z "$marks" ] || bt_say_process "${each%:*}" "$marks" # without marks it has ended since
  done
}

bt_shells() { # RUN/HOST, or nothing for all: prints PID:START RUN/HOST/TASK of the agent's own processes
  local file='' pid='' start='' all='' task=''
  for file in $(grep -lsF -- "BENCHTUI_AGENT=$1" /proc/[0-9]*/environ 2>/dev/null); do
    pid=${file#/proc/} pid=${pid%/environ}
    [ "$pid" != $$ ] && bt_proc "$pid" || continue
    start=$BT_START all=$BT_NL$(bt_environ "$pid")$BT_NL
    case $all in *"${BT_NL}BENCHTUI_AGENT=$1"*) ;; *) continue ;; esac
    task=${all#*"${BT_NL}BENCHTUI_AGENT="} task=${task%%"$BT_NL"*}
    bt_alive "$pid" "$start" && bt_say "$pid:$start $task"
  done
}

bt_say_strays() { # RUN/HOST, or nothing for all: shells of the agent whose task is gone, or lost its supervisor
  local each='' task='' rest=''
  bt_shells "$1" | while read -r each task; do
    (cd "$BT_BASE/$task" 2>/dev/null && { [ -e done ] || bt_supervised; }) && continue
    rest=${task#*/}
    bt_say_process "${each%:*}" "BENCHTUI_RUN=${task%%/*} BENCHTUI_HOST=${rest%%/*} BENCHTUI_TASK=${rest#*/}"
  done
}

bt_kill_shells() { # RUN/HOST/: kills the agent's remaining processes of a run
  local each='' task=''
  bt_shells "$1" | while read -r each task; do bt_kill_listed "$each"; done
}

bt_sweep() { # kill|list RUN HOST: ends supervisors first, so that they cannot start an armed load
  local dir='' end=''
  bt_name "$2" "$3"
  bt_base
  bt_say_loads "BENCHTUI_RUN=$2" "BENCHTUI_HOST=$3"
  bt_say_strays "$2/$3/"
  [ "$1" = kill ] || return 0
  for dir in "$BT_BASE/$2/$3"/*; do
    if [ -d "$dir" ] && cd "$dir"; then bt_stop_here abort; fi
  done
  bt_kill_marked "BENCHTUI_RUN=$2" "BENCHTUI_HOST=$3"
  bt_kv left "$BT_LEFT"
  bt_uptime
  end=$((BT_UP + 8)) # supervisors write their records and go
  for dir in "$BT_BASE/$2/$3"/*; do
    if [ -d "$dir" ] && cd "$dir"; then
      while bt_supervised && [ "$BT_UP" -lt "$end" ]; do bt_nap 0.1; bt_uptime; done
    fi
  done
  bt_kill_shells "$2/$3/"
}

bt_open_files() { # RUN HOST JOB-FILE [PROGRAM]: files and block devices that loads have open: `open=PID FLAGS PATH`, FLAGS octal;
  # of each such process `ran=PID SUM PRELOAD WORDS`: cksum of its job file, libraries of LD_PRELOAD; of at most 32;
  # `stamp=CTIME|MTIME|FILE` of its job file and of a file made behind that, `mapped=PID PATH` of libraries elsewhere
  # `program=PID PATH`: it is another program than PROGRAM
  local job="$3" program="${4-}" each='' pid='' pids='' opened='' sums='' path='' rest='' with=''
  for each in $(bt_marked "BENCHTUI_RUN=$1" "BENCHTUI_HOST=$2" | head -n 32); do pids="$pids ${each%:*}"; done
  [ -n "$pids" ] || return 0
  # few processes are started here, and each for all loads: it is during a measurement
  # shellcheck disable=SC2086  # numbers
  opened=$(bt_descriptors $pids)
  [ -n "$opened" ] || return 0
  bt_say "$opened"
  set --
  for pid in $pids; do set -- "$@" "/proc/$pid/cwd/$job"; done
  while read -r each rest path; do
    path=${path#/proc/}
    sums="$sums ${path%%/*}=$each:$rest"
  done <<BT_EOF
$(cksum "$@" 2>/dev/null)
BT_EOF
  set --
  for pid in $pids; do set -- "$@" "/proc/$pid/cwd/$job" "/proc/$pid/cwd/reserve.done"; done
  rest=$(stat -c 'stamp=%z|%y|%n' "$@" 2>/dev/null)
  [ -z "$rest" ] || bt_say "$rest"
  # shellcheck disable=SC2086  # numbers
  bt_mapped $pids
  # shellcheck disable=SC2086  # numbers
  bt_other_programs "$program" $pids
  set --
  for pid in $pids; do set -- "$@" "/proc/$pid/environ"; done
  with=" $(grep -ls LD_PRELOAD= "$@" 2>/dev/null | tr '\n' ' ')"
  for pid in $pids; do
    case $BT_NL$opened in *"${BT_NL}open=$pid "*) ;; *) continue ;; esac
    each='-' rest=''
    case "$sums " in *" $pid="*) each=${sums##* "$pid"=} each=${each%% *} ;; esac
    case $with in *" /proc/$pid/environ "*) rest=y ;; *) [ ! -s "/proc/$pid/root/etc/ld.so.preload" ] || rest=y ;; esac
    [ -z "$rest" ] ||
      rest=$({ bt_environ "$pid" | sed -n 's/^LD_PRELOAD=//p' && cat "/proc/$pid/root/etc/ld.so.preload"; } 2>/dev/null |
        tr -s ' \n' ::)
    path=$(tr '\0\n' '  ' 2>/dev/null <"/proc/$pid/cmdline")
    # the end of a long line: the program's own arguments are there, whatever started it
    [ ${#path} -le 4096 ] || path=$(bt_say "$path" | tail -c 4097)
    bt_say "ran=$pid $each ${rest:--} $path"
  done
}

bt_files_elsewhere() { # JOB-FILE PID... -- PLANNED...: `elsewhere=PID PATH`, at most 16: files and block devices that loads
  # may have in place of the planned files; none if a load has one of these open, by whatever name, or if that is unknown
  local job="$1" pids='' pid='' fd='' path='' each='' found='' count=0
  shift
  while [ "$1" != -- ]; do pids="$pids $1"; shift; done
  shift
  # shellcheck disable=SC3013  # not POSIX, so it is tried first
  [ / -ef / ] 2>/dev/null || return 0
  # this costs no process
  for pid in $pids; do
    for fd in "/proc/$pid/fd"/*; do
      [ -f "$fd" ] || [ -b "$fd" ] || continue
      # shellcheck disable=SC3013
      for each; do [ ! "$fd" -ef "$each" ] || return 0; done
    done
  done
  # and this one for each file
  for pid in $pids; do
    # shellcheck disable=SC3013  # in another mount namespace, names are of other files
    [ -e "/proc/$pid/cwd/$job" ] && [ "/proc/$pid/ns/mnt" -ef /proc/self/ns/mnt ] || continue
    for fd in "/proc/$pid/fd"/*; do
      [ -f "$fd" ] || [ -b "$fd" ] && bt_may_be_data "$pid" "${fd##*/}" || continue
      path=$(readlink "$fd") || continue
      # shellcheck disable=SC3013  # a copy-up of overlayfs, for example: another file by the planned name
      for each; do [ ! "$path" -ef "$each" ] || return 0; done
      case $path in /proc/* | /sys/* | /memfd:* | [!/]* | *"$BT_NL"*) continue ;; esac # anon_inode:[timerfd] is a file, too
      # shellcheck disable=SC3013
      [ ! "${path%/*}" -ef "/proc/$pid/cwd" ] || continue
      found="$found${found:+$BT_NL}elsewhere=$pid $path" count=$((count + 1))
      [ "$count" -lt 16 ] || break 2
    done
  done
  [ -z "$found" ] || bt_say "$found"
}

bt_may_be_data() { # PID FD: no log, which is only written to (O_WRONLY), and no script (close-on-exec)
  local name='' flags=''
  while read -r name flags; do
    [ "$name" != flags: ] || break
  done 2>/dev/null <"/proc/$1/fdinfo/$2"
  case $flags in '' | *[15] | *[2367]??????) return 1 ;; esac
}

bt_other_programs() { # PROGRAM PID...: `program=PID PATH` of processes that run another file; costs a process for these only
  local program="$1" pid='' path=''
  shift
  # shellcheck disable=SC3013  # not POSIX, so it is tried first
  [ -n "$program" ] && [ "$program" -ef "$program" ] 2>/dev/null || return 0
  for pid; do
    # shellcheck disable=SC3013
    [ "/proc/$pid/exe" -ef "$program" ] || path=$(readlink "/proc/$pid/exe" 2>/dev/null) || continue
    [ -z "$path" ] || bt_say "program=$pid $path"
    path=''
  done
}

bt_mapped() { # PID...: `mapped=PID PATH` of libraries outside of the system's directories that has one of this name
  local line='' path='' pid='' twin='' stem=''
  for pid; do shift; set -- "$@" "/proc/$pid/maps"; done
  grep -HsE '^[0-9a-f]+-[0-9a-f]+ r-x[ps] .* /.*\.so' /dev/null "$@" |
    grep -vE ' /(usr/)?lib(exec|x?[0-9]+)?/' | while read -r line; do
    pid=${line#/proc/} pid=${pid%%/*} path=/${line#* /}
    stem=${path##*/} stem=${stem%%.so*}
    for twin in "/proc/$pid/root"/lib*/"$stem".so* "/proc/$pid/root"/lib*/*/"$stem".so* \
      "/proc/$pid/root"/usr/lib*/"$stem".so* "/proc/$pid/root"/usr/lib*/*/"$stem".so*; do
      [ ! -e "$twin" ] || { bt_say "mapped=$pid $path" && break; }
    done
  done
}

bt_descriptors() { # PID...: where each descriptor leads, and its flags: `open=PID FLAGS PATH`, at most 32 of a process
  local pid=''
  for pid; do shift; set -- "$@" "/proc/$pid/fd"; done
  # shellcheck disable=SC2012,SC2016  # one process for all descriptors, as find -printf is not POSIX; awk's dollars
  {
    ls -l /proc/$$/task "$@" # more than one directory, so that each has its heading
    for pid; do grep -H '^flags:' "${pid}info"/[0-9]*; done
  } 2>/dev/null | ${BENCHTUI_AWK:-awk} '
    /^\/proc\/[0-9]+\/fd:$/ { split($0, part, "/"); pid = part[3]; next }
    /^\/proc\/[0-9]+\/fdinfo\/[0-9]+:flags:/ {
      split($1, part, "/")
      at = part[3] " " part[5] + 0
      if (!(at in path) || path[at] ~ /^\/(proc|sys)\// || told[part[3] " " $2 " " path[at]]++) next
      if (count[part[3]]++ < 32) print "open=" part[3] " " $2 " " path[at]
      next
    }
    / -> \// { match($0, / -> \//); split(substr($0, 1, RSTART - 1), part, " "); n = 0
      for (each in part) n++
      path[pid " " part[n]] = substr($0, RSTART + 4) }'
}

bt_leftovers() { # all processes of any run of benchtui that this user may inspect
  local file='' pid='' marks=''
  bt_base
  for file in $(grep -lsF -- BENCHTUI_RUN= /proc/[0-9]*/environ 2>/dev/null); do
    pid=${file#/proc/} pid=${pid%/environ}
    [ "$pid" != $$ ] && bt_proc "$pid" || continue
    marks=$(bt_environ "$pid" | grep '^BENCHTUI_[RHT][A-Z]*=' | tr '\n' ' ')
    case $marks in *BENCHTUI_TASK=look-*) ! bt_is_recent || continue ;; esac # this host is being checked just now
    case $marks in *BENCHTUI_RUN=*) bt_say_process "$pid" "$marks" ;; esac
  done
  bt_say_strays ''
}

bt_is_recent() { # was the process that bt_proc saw started less than two minutes ago? 100 ticks are a second
  bt_uptime
  [ $((BT_UP - ${BT_START%??})) -lt 120 ]
}

# ---- directories -----------------------------------------------------------------------------------------------

bt_list() { # every task of this user on this host
  local dir='' alive='' over=''
  bt_base
  bt_kv now "$(date +%s)"
  for dir in "$BT_BASE"/*/*/*; do
    [ -d "$dir" ] && cd "$dir" 2>/dev/null || continue
    alive=0 over=0
    ! bt_supervised || alive=1
    bt_record
    [ ! -e done ] || over=1
    bt_say "task=$alive $over ${BT_EPOCH:-0} $(bt_kib) ${dir#"$BT_BASE"/}"
  done
}

bt_kib() { # prints the size of the current directory
  local size=''
  size=$(du -sk . 2>/dev/null)
  set -f
  # shellcheck disable=SC2086  # the size, and the name
  set -- $size
  set +f
  bt_say "${1:-0}"
}

bt_expire() { # RUN DAYS: abandoned leftovers of other runs
  local dir='' run='' host=''
  bt_name "$1"
  bt_base
  for dir in "$BT_BASE"/*/*; do
    [ -d "$dir" ] && [ ! -L "$dir" ] && cd "$dir" 2>/dev/null || continue
    run=${dir#"$BT_BASE"/} host=${run#*/} run=${run%%/*}
    [ "$run" != "$1" ] && [ -z "$(bt_shells "$run/$host/")" ] || continue
    bt_end_abandoned "$run" "$host"
    cd "$dir" 2>/dev/null && bt_is_old "$2" || continue
    dir=$(bt_kib)
    (bt_clean "$run" "$host" >/dev/null) && bt_kv removed "$dir $run/$host"
  done
}

bt_end_abandoned() { # RUN HOST: loads whose shells are all gone and whose lease is out; in the run's directory here
  local task='' lease='' count=0
  for task in *; do
    [ -e "$task/lease" ] && [ ! -e "$task/done" ] || continue
    bt_get "$task/seconds"; lease=$BT_GOT
    bt_is_count "$lease" || lease=1800 # of an older version
    [ -n "$(find "$task/lease" -mmin "+$((lease / 30 + 1))" 2>/dev/null)" ] || continue
    count=$(bt_marked "BENCHTUI_TASK=$task" "BENCHTUI_RUN=$1" "BENCHTUI_HOST=$2" | wc -l)
    [ "$count" -gt 0 ] || continue
    bt_kill_marked "BENCHTUI_TASK=$task" "BENCHTUI_RUN=$1" "BENCHTUI_HOST=$2"
    bt_kv ended "$((count)) $1/$2/$task"
  done
}

bt_is_old() { # DAYS: has nothing in the current directory changed for this long? No if unknown
  [ "$(find . -mtime "-$1" 2>&1 && bt_say .)" = . ]
}

bt_clean() { # RUN HOST: removes the run's directories, and ends the agent's remaining processes
  local dir=''
  bt_name "$1" "$2"
  bt_base
  for dir in "$BT_BASE/$1/$2"/*; do
    [ -d "$dir" ] && cd "$dir" || continue
    ! bt_supervised || bt_die "task ${dir##*/} of run $1 is still running"
  done
  [ -z "$(bt_marked "BENCHTUI_RUN=$1" "BENCHTUI_HOST=$2")" ] || bt_die "processes of run $1 are still running"
  [ ! -L "$BT_BASE/$1" ] || bt_die "$BT_BASE/$1 is a link"
  bt_kill_shells "$1/$2/"
  cd / || bt_die "cannot enter /"
  rm -rf -- "${BT_BASE:?}/$1/$2"
  rmdir -- "$BT_BASE/$1" "$BT_BASE" 2>/dev/null
  dir=/dev/shm/benchtui-$1 # shared memory of MPI programs, see mpi.sh
  [ -O "$dir" ] && [ ! -L "$dir" ] || return 0
  rm -rf -- "${dir:?}/$2" "$dir"/ompi.*
  rmdir -- "$dir" 2>/dev/null
  :
}
