# The stream of a task: its output to the engine, and the engine's commands to it.

bt_stream() { # RUN HOST TASK OUT_FROM ERR_FROM GENERATION POLL: the first byte of each file is number 1
  bt_task "$1" "$2" "$3"
  bt_fence "$6"
  BT_POLL=$7
  exec 3<out 4<&0 6<err 7>&2 2>/dev/null
  bt_proc $$
  BT_STREAMER_START=$BT_START
  bt_put streamer "$6 $$ $BT_START"
  bt_put lease "$6.0"
  (bt_listen "$1" "$2" "$6") 3<&- 6<&- 7>&- >/dev/null &
  BT_LISTENER=$!
  trap 'bt_stream_end 74' HUP INT TERM
  bt_say "BT-STREAM $BT_TOKEN"
  bt_say "BT-STREAM $BT_TOKEN" >&7
  tail -c "+$4" <&3 || bt_stream_end 75
  tail -c "+$5" <&6 >&7 || bt_stream_end 75
  bt_spool
  bt_stream_end 0
}

bt_fence() { # GENERATION: ends an older stream; refuses to start if a newer one exists
  local old=0
  [ -e streamer ] && read -r old _ <streamer
  expr "$old" \< "$1" >/dev/null || { bt_kv fenced "$old"; bt_die "another benchtui process now streams this task"; }
  bt_end_streamer
}

bt_listen() { # RUN HOST GENERATION: the engine's commands; their end of file ends the streamer, never the load
  local word=''
  while read -r word <&4; do
    bt_get streamer
    [ "${BT_GOT%% *}" = "$3" ] || break
    case $word in
      go) [ -p go ] && bt_say go 1<>go ;;
      stop | abort) (bt_stop_here "$word") ;;
      lease\ *) bt_put lease "$3.${word#lease }"; (bt_lock_renew "$1" "$2") ;;
    esac
  done
  bt_alive $$ "$BT_STREAMER_START" && kill -TERM $$
}

bt_spool() { # `done` is looked at before the last copy: the other way round loses the tail
  local rounds=0 last=0
  while :; do
    [ ! -e done ] || last=1
    cat <&3 || bt_stream_end 75
    rounds=$((rounds + 1))
    if [ -s err ] && [ $((rounds % 3 * (1 - last))) = 0 ]; then cat <&6 >&7 || bt_stream_end 75; fi
    [ "$last" = 0 ] || return 0
    if [ $((rounds % 8)) = 0 ] && ! bt_supervised && [ ! -e done ]; then bt_stream_end 76; fi
    bt_nap "$BT_POLL"
  done
}

bt_stream_end() { kill -KILL "$BT_LISTENER" 2>/dev/null; exit "$1"; }
