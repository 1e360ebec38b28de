# Starting a task: its directory, its supervisor.

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
