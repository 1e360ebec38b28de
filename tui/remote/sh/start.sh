# Starting a task: its directory, its supervisor.

bt_start() { # RUN HOST TASK LEASE GRACE ARMED NFILES [NAME TEXT]... ARGV...
  local run="$1" host="$2" task="$3" lease="$4" grace="$5" armed="$6" files="$7"
  bt_name "$run" "$host" "$task"
  shift 7
  [ "${BT_CARRIED:-1}" = 1 ] || bt_die "the programs that this run copied here are gone"
  bt_enter_new "$run/$host" "$task"
  if [ "$BT_NEW" = 1 ]; then
    while [ "$files" -gt 0 ]; do
      bt_name "$1"
      bt_say "$2" >"$1" || bt_cannot_write "$PWD/$1"
      shift 2
      files=$((files - 1))
    done
    bt_furnish "$armed"
    bt_spawn "$run" "$host" "$task" "$lease" "$grace" "$armed" "$BT_GIVEN_UMASK" "$@"
  fi
  bt_wait_started "$armed"
  bt_kv dir "$BT_BASE/$run/$host/$task"
  bt_kv new "$BT_NEW"
}

bt_enter_new() { # RUN/HOST TASK: creates a task's directory and goes there; sets BT_NEW to 0 if it existed
  local tries=0 said=''
  while :; do # another run that ends may take the parents away while they are empty
    bt_base
    BT_NEW=1
    said=$(mkdir -p "$BT_BASE/$1" 2>&1)
    mkdir "$BT_BASE/$1/$2" 2>/dev/null || BT_NEW=0 # atomic: a repeated start starts nothing
    cd "$BT_BASE/$1/$2" 2>/dev/null && bt_ours "$BT_BASE" && return
    [ "$tries" -lt 10 ] || bt_die "cannot create $BT_BASE/$1/$2${said:+: $said}"
    tries=$((tries + 1))
  done
}

bt_cannot_write() { # PATH: dies with the reason why nothing can be written here
  local said=''
  said=$(dd if=/dev/zero of=room bs=4096 count=1 2>&1 | grep '^dd: ')
  rm -f room
  bt_die "cannot write $1${said:+: ${said##*: }}"
}

bt_furnish() { # ARMED: creates the files that every task's directory has
  local each=''
  : >out && : >err && bt_say 0 >lease || bt_cannot_write "$PWD"
  for each in exit reason left done; do # blocks reserved for the last messages: bt_put_last
    dd if=/dev/zero of="reserve.$each" bs=4096 count=1 2>/dev/null || bt_die "cannot write to $PWD: no space for 16 KiB"
  done
  [ "$1" = 0 ] || mkfifo go || bt_die "cannot create a FIFO in $PWD"
}

bt_spawn() { # RUN HOST TASK LEASE GRACE ARMED UMASK ARGV...: the supervisor, in a session of its own where setsid exists
  local setsid=''
  [ "${BENCHTUI_SETSID:-yes}" = no ] || setsid=$(command -v setsid 2>/dev/null)
  # shellcheck disable=SC2086  # none, or one word; a shell may be two
  BENCHTUI_AGENT=$1/$2/$3 $setsid ${BENCHTUI_SH:-/bin/sh} -c '. ./agent.sh; bt_supervise "$@"' benchtui-agent "$@" \
    </dev/null >/dev/null 2>sup.log &
}

bt_wait_started() { # ARMED
  local tries=0
  while [ ! -e done ]; do
    if [ -e pid ] && { [ "$1" = 0 ] || [ -e armed ]; }; then return; fi
    [ "$tries" -lt 200 ] || bt_die "the supervisor did not start: $(tail -n 1 sup.log 2>/dev/null)"
    tries=$((tries + 1))
    bt_nap 0.05
  done
}
