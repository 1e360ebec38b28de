# The supervisor of a task, its guard, its runner and the runner's keeper run on the host without the engine. The
# supervisor watches the lease and how much the load prints, and ends the load; the guard does so if the supervisor is
# killed or stopped, the keeper if both are; the runner waits for GO, starts the load, and records its exit code. None of
# them waits forever: the runner reads a FIFO that only the supervisor holds open for writing, guard and keeper watch the
# shells before them and the lease, and a removed directory ends them all. A load survives its lease only if all four
# shells die at once: a load that never ends on its own must watch the supervisor, as telemetry.awk does.

# Limits on what a load may print, in kB: a rate per second, and a burst beyond it. fio's snapshots are 45 kB per group
# and direction; the largest measured rate is 2 MB per second, from 100 jobs without group reporting. fio prints one line
# of errors per failed job. The engine has the same limits: `OutputBudget` in tui/remote/stream.py.
BT_OUT_RATE=4000 BT_OUT_BURST=16000 BT_ERR_RATE=250 BT_ERR_BURST=2000

bt_supervise() { # RUN HOST TASK LEASE GRACE ARMED UMASK ARGV...: in the task's directory, until the load is over
  BT_RUN=$1 BT_HOST=$2 BT_TASK=$3 BT_LEASE=$4 BT_GRACE=$5 BT_ARMED=$6 BT_UMASK=$7
  shift 7
  trap : HUP INT TERM PIPE USR1 # caught, not ignored: the load gets the default ones
  umask 077
  exec </dev/null >>sup.log 2>&1 8>>out 9>>err # the load prints to these: their positions say how much it has printed
  [ "$BT_ARMED" = 0 ] || exec 5<>go 6<go || exit 1 # held open, so that a word written early is not lost
  bt_proc $$
  BT_SUP=$$ BT_SUP_START=$BT_START
  BT_EPOCH=$(date +%s) # not once the load runs: bash 5.2 fails if a signal comes while it parses "$(...)"
  (bt_run_load "$@") 5>&- &
  BT_RUNNER=$! BT_RUNNER_START=
  exec 6<&-
  bt_proc "$BT_RUNNER" && BT_RUNNER_START=$BT_START
  bt_boot_id
  bt_put seconds "$BT_LEASE"
  bt_put pid "$BT_SUP $BT_SUP_START $BT_EPOCH $BT_GOT"
  (bt_guard) 5>&- 8>&- 9>&- &
  BT_GUARD=$!
  bt_proc "$BT_GUARD" && bt_put guard "$BT_GUARD $BT_START"
  bt_watch
  bt_finish
  bt_dismiss "$BT_GUARD"
  exit 0
}

bt_dismiss() { kill -TERM "$1" 2>/dev/null; kill -CONT "$1" 2>/dev/null; } # PID

# ---- the runner ------------------------------------------------------------------------------------------------

bt_run_load() { # ARGV...: waits for GO when armed, runs the load, records its exit code
  local load='' code=''
  trap : HUP INT TERM PIPE USR1
  echo 500 2>/dev/null >/proc/self/oom_score_adj # the load goes before the storage client does
  BENCHTUI_RUN=$BT_RUN BENCHTUI_HOST=$BT_HOST BENCHTUI_TASK=$BT_TASK
  export BENCHTUI_RUN BENCHTUI_HOST BENCHTUI_TASK
  unset BENCHTUI_AGENT
  [ "$BT_ARMED" = 0 ] || bt_await_go || { bt_put_last exit unknown; bt_wake; exit 0; }
  if bt_stars_ready; then
    umask "$BT_UMASK"
    "$@" </dev/null >stars.out 2>stars.err 8>&- 9>&- &
  else
    umask "$BT_UMASK"
    "$@" </dev/null >&8 2>&9 8>&- 9>&- &
  fi
  load=$!
  umask 077
  bt_proc "$load"
  bt_put load "$load $BT_START"
  read -r BT_RUNNER code </proc/self/stat
  bt_proc "$BT_RUNNER" && BT_RUNNER_START=$BT_START
  (bt_keep) 8>&- 9>&- &
  BT_KEEPER=$!
  while :; do # wait returns early, above 128, when a trapped signal comes
    wait "$load"
    code=$?
    [ "$code" -gt 128 ] && kill -0 "$load" 2>/dev/null || break
  done
  bt_stars_end
  bt_put_last exit "$code"
  if bt_alive "$BT_SUP" "$BT_SUP_START" || bt_guarded; then bt_dismiss "$BT_KEEPER"; fi
  bt_wake
}

bt_await_go() { # fails if the load was disarmed, or if the supervisor, which holds the FIFO open, is gone
  local word=''
  : >armed
  until [ "$word" = go ]; do
    word=
    read -r word <&6 || { bt_alive "$BT_SUP" "$BT_SUP_START" || return 1; bt_nap 0.2; } # a signal ends a read as well
    [ "$word" != no ] || return 1
  done
  exec 6<&-
}

bt_wake() { if bt_alive "$BT_SUP" "$BT_SUP_START"; then kill -USR1 "$BT_SUP"; fi; }

# ---- the watch -------------------------------------------------------------------------------------------------

bt_watch() { # until the load ended or must end: sets BT_WHY
  local rounds=0
  BT_LAST='' BT_SINCE=0 BT_OUT_AT=0 BT_OUT_LEVEL=0 BT_ERR_AT=0 BT_ERR_LEVEL=0
  bt_uptime
  BT_LOOKED=$BT_UP
  while :; do
    rounds=$((rounds + 1))
    if bt_flooded; then BT_WHY=flooded; return; fi
    if [ $((rounds % 4)) = 0 ] && bt_full; then BT_WHY=spool-full; return; fi
    if [ -e exit ]; then BT_WHY='exit'; return; fi
    if bt_get stop; then BT_WHY=$BT_GOT; return; fi
    if [ ! -e lease ]; then BT_WHY=directory-removed; return; fi
    if ! bt_alive "$BT_RUNNER" "$BT_RUNNER_START" && [ ! -e exit ]; then BT_WHY=runner-died; return; fi
    if bt_lease_out "$BT_LEASE"; then BT_WHY=lease; return; fi
    bt_tick 1
  done
}

bt_guard() { # ends the load of a supervisor that was killed or stopped, and so no longer watches the lease
  bt_begin_guard
  while bt_alive "$BT_SUP" "$BT_SUP_START"; do
    [ ! -e done ] || exit 0
    if bt_overdue 1; then bt_kill "$BT_SUP" "$BT_SUP_START"; fi
    bt_tick 2
  done
  bt_instead
}

bt_keep() { # does the same if supervisor and guard were killed or stopped; starts with the load
  unset BENCHTUI_RUN BENCHTUI_HOST BENCHTUI_TASK # it is no load
  bt_begin_guard
  while bt_alive "$BT_SUP" "$BT_SUP_START" || bt_guarded; do
    [ ! -e done ] || exit 0
    if bt_overdue 2; then
      bt_kill "$BT_SUP" "$BT_SUP_START"
      ! bt_guarded || bt_kill "$BT_GUARD" "$BT_GUARD_START"
    fi
    bt_tick 2
  done
  bt_instead
}

bt_begin_guard() { # sets BT_LATE: delay after the previous guard, so that all is over after two leases
  trap 'kill "$BT_SLEEPER" 2>/dev/null; exit 0' TERM
  BT_LAST='' BT_SINCE=0 BT_SLEEPER='' BT_WHY=supervisor-died BT_LATE=$((BT_LEASE / 4))
  [ "$BT_LATE" -lt $((BT_GRACE + 10)) ] || BT_LATE=$((BT_GRACE + 10))
}

bt_overdue() { # TIMES: is the load still there although the lease expired? A guard that has begun gets time to end it
  bt_lease_out $((BT_LEASE + BT_LATE * $1)) || return 1
  [ ! -e reason ] || bt_lease_out $((BT_LEASE + BT_GRACE + 10)) || return 1
  BT_WHY=lease BT_GRACE=1
}

bt_guarded() { # is there a guard? Sets BT_GUARD and BT_GUARD_START
  BT_GUARD='' BT_GUARD_START=''
  [ -e guard ] && read -r BT_GUARD BT_GUARD_START <guard
  bt_alive "$BT_GUARD" "$BT_GUARD_START"
}

bt_instead() { # ends the load in place of the supervisor
  [ ! -e done ] || exit 0
  bt_finish
  exit 0
}

bt_lease_out() { # SECONDS: is the last renewal of the lease this old? Keeps its state in BT_LAST and BT_SINCE
  bt_get lease
  bt_uptime
  if [ "$BT_GOT" != "$BT_LAST" ]; then BT_LAST=$BT_GOT BT_SINCE=$BT_UP; fi
  [ $((BT_UP - BT_SINCE)) -ge "$1" ]
}

bt_tick() { # SECONDS: a sleep that a signal ends
  (unset BENCHTUI_AGENT; exec sleep "$1") & # it ends on its own: no leftover
  BT_SLEEPER=$!
  wait "$BT_SLEEPER" || kill "$BT_SLEEPER" 2>/dev/null
}

bt_full() { # is there no room for another file here? Then output and status files are lost
  if bt_say x 2>/dev/null >room; then rm -f room; return 1; fi
  [ -e lease ]
}

bt_flooded() { # does the load print more than allowed? Sets BT_KEEP, the kB to keep, and BT_TOLD: stream, kB, seconds
  local seconds=''
  bt_uptime
  seconds=$((BT_UP - BT_LOOKED))
  BT_LOOKED=$BT_UP
  bt_level 8 "$BT_OUT_AT" "$BT_OUT_LEVEL" $((BT_OUT_RATE * seconds))
  if [ "$BT_LEVEL" -gt "$BT_OUT_BURST" ]; then
    BT_FLOOD=out BT_KEEP=$((BT_OUT_AT + BT_OUT_BURST)) BT_TOLD="stdout $((BT_AT - BT_OUT_AT)) $seconds"
    return 0
  fi
  BT_OUT_AT=$BT_AT BT_OUT_LEVEL=$BT_LEVEL
  bt_level 9 "$BT_ERR_AT" "$BT_ERR_LEVEL" $((BT_ERR_RATE * seconds))
  if [ "$BT_LEVEL" -gt "$BT_ERR_BURST" ]; then
    BT_FLOOD=err BT_KEEP=$((BT_ERR_AT + BT_ERR_BURST)) BT_TOLD="stderr $((BT_AT - BT_ERR_AT)) $seconds"
    return 0
  fi
  BT_ERR_AT=$BT_AT BT_ERR_LEVEL=$BT_LEVEL
  return 1
}

bt_level() { # FD AT LEVEL CREDIT, in kB: sets BT_AT, the file's position now, and BT_LEVEL, its excess over the rate
  local key='' at=''
  BT_AT=$2 BT_LEVEL=$3
  while read -r key at; do [ "$key" != pos: ] || break; done 2>/dev/null <"/proc/$BT_SUP/fdinfo/$1"
  at=${at%???}
  bt_is_count "${at:-0}" || return 0
  BT_AT=${at:-0}
  BT_LEVEL=$(($3 + BT_AT - $2 - $4))
  [ "$BT_LEVEL" -ge 0 ] || BT_LEVEL=0
}

# ---- the end ---------------------------------------------------------------------------------------------------

bt_finish() { # ends the rest of the load and its runner, and records why
  if [ "$BT_WHY" = flooded ]; then bt_put flood "$BT_TOLD"; elif bt_full; then BT_WHY=spool-full; fi
  bt_put reason "$BT_WHY"
  case $BT_WHY in exit | flooded) ;; *) bt_end_load ;; esac # a flooding load is killed at once
  bt_kill_load
  [ "$BT_WHY" != flooded ] || bt_cut
  bt_put_last reason "$BT_WHY"
  bt_await_exit 2
  bt_kill "$BT_RUNNER" "$BT_RUNNER_START" && bt_kill_load
  [ -e exit ] || bt_put_last exit unknown
  bt_put_last left "$BT_LEFT"
  bt_put_last done "$BT_WHY"
  rm -f reserve.*
}

bt_put_last() { # NAME LINE: like bt_put, but with reserved blocks, because others may use space as soon as it is freed
  bt_put "$1" "$2" || { bt_say "$2" 1<>"reserve.$1" && mv -f "reserve.$1" "$1"; }
} 2>/dev/null

bt_cut() { # keeps the beginning of a flood; ends a streamer that has begun to send the rest
  dd if=/dev/null of="$BT_FLOOD" bs=1000 seek="$BT_KEEP" 2>/dev/null
  bt_put flood "$BT_TOLD" # the file system may have been full before
  bt_end_streamer
}

bt_kill_load() { bt_kill_marked "BENCHTUI_TASK=$BT_TASK" "BENCHTUI_RUN=$BT_RUN" "BENCHTUI_HOST=$BT_HOST"; }

bt_end_load() { # asks, insists, kills
  if [ "$BT_WHY" = abort ]; then BT_GRACE=1; fi
  if [ ! -e load ] && [ -p go ]; then
    { bt_say no; bt_say no; bt_say no; } 1<>go # a signal may cut a word that is just being read
    bt_await_exit 2
  fi
  BT_LOAD='' BT_LOAD_START=''
  [ -e load ] && read -r BT_LOAD BT_LOAD_START <load
  bt_polite
  bt_signal_load "$BT_POLITE"
  bt_await_exit "$BT_GRACE"
  bt_signal_load TERM
  bt_await_exit 2
  bt_signal_load KILL
}

bt_polite() { # sets BT_POLITE: INT, which fio answers with its results; TERM where the load ignores INT or must end at once
  local key='' mask=''
  [ "$BT_WHY" = abort ] || while read -r key mask; do [ "$key" = SigIgn: ] && break; done 2>/dev/null <"/proc/$BT_LOAD/status"
  case $key$mask in
    SigIgn:*[014589cdCD]) BT_POLITE=INT ;; # bit 1 of the last digit is SIGINT
    *) BT_POLITE=TERM ;;
  esac
}

bt_signal_load() { if bt_alive "$BT_LOAD" "$BT_LOAD_START"; then kill -s "$1" "$BT_LOAD" 2>/dev/null; fi; }

bt_load_over() {
  [ ! -e exit ] || return 0
  bt_alive "${BT_LOAD:-}" "${BT_LOAD_START:-}" && return 1
  ! bt_alive "$BT_RUNNER" "$BT_RUNNER_START"
}

bt_await_exit() { # SECONDS
  local end=''
  bt_uptime
  end=$((BT_UP + $1))
  while ! bt_load_over && [ "$BT_UP" -lt "$end" ]; do
    bt_tick 1
    if bt_overtaken; then return; fi
    bt_uptime
  done
}

bt_overtaken() { # an abort that comes while a stop gives the load its time
  [ "$BT_WHY" = stop ] && bt_get stop && [ "$BT_GOT" = abort ] && BT_WHY=abort
}
