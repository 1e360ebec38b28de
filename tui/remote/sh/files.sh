# Files and directories of a benchmark, and the page cache.

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
