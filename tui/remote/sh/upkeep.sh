# Looking after tasks: status, stop, sweep, removal.

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
