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
