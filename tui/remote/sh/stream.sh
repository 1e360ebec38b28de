# The stream of a task: its output to us, our few words to it.

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
