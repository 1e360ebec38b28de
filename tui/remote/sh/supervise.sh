# The supervisor of a task, its guard and its runner: on the host, without us.

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
