# benchtui agent: POSIX sh, sent over stdin to /bin/sh on every host. Nothing is installed. Which parts there are and
# how they are joined: tui/remote/scripts.py.
#
# These files only define functions. The client appends one `{ bt_begin ...; bt_COMMAND ...; bt_end 0; }` group, so a
# script that was cut anywhere is a syntax error or a list of unused functions, and does nothing.
#
# Arithmetic stays below 2^31, which is all that mksh has: sizes are printed in the unit they were read in (_kib,
# _sectors) and multiplied by the client.
#
# Answers are KEY=VALUE lines between `BT-BEGIN token` and `BT-END token code`; a value ends at its newline.
# Every process of a load carries BENCHTUI_RUN, BENCHTUI_HOST and BENCHTUI_TASK in its environment: fio's workers call
# setsid(), so neither a process group nor a session holds them together.

BT_NL='
'
PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin
LC_ALL=C
export PATH LC_ALL


bt_say() { printf '%s\n' "$*"; }
case ${KSH_VERSION-} in ?*) bt_say() { print -r -- "$*"; } ;; esac

bt_kv() { # KEY VALUE
  case $2 in
    *"$BT_NL"*) bt_say "$1=$(bt_say "$2" | tr '\n' ' ')" ;;
    *) bt_say "$1=$2" ;;
  esac
}

bt_begin() { BT_TOKEN=$1; bt_say "BT-BEGIN $BT_TOKEN"; }
bt_end() { bt_say "BT-END $BT_TOKEN $1"; exit "$1"; }
bt_die() { bt_kv error "$1"; bt_end 1; }


bt_put() { bt_say "$2" >".$1.$$" && mv -f ".$1.$$" "$1"; } # NAME LINE: readers see the old line or the new one

bt_get() { # FILE: sets BT_GOT to its first line, empty when there is none
  BT_GOT=
  [ -e "$1" ] || return 1
  read -r BT_GOT 2>/dev/null <"$1"
  return 0
}

bt_nap() { sleep "$1" 2>/dev/null || sleep 1; } # not every sleep takes fractions

bt_uptime() { # sets BT_UP: seconds that no clock step changes
  if read -r BT_UP BT_X 2>/dev/null </proc/uptime; then BT_UP=${BT_UP%%.*}; else BT_UP=$(date +%s); fi
}

bt_proc() { # PID: sets BT_START and BT_PGRP; fails when it is gone or a zombie
  BT_START=0 BT_PGRP=0 BT_S=
  [ -n "$1" ] || return 1
  read -r BT_S 2>/dev/null <"/proc/$1/stat" || return 1
  case $BT_S in *') '*) ;; *) BT_S=$(tr '\n' ' ' 2>/dev/null <"/proc/$1/stat") ;; esac
  set -- ${BT_S##*') '}
  case ${1:-X} in Z | X | x) return 1 ;; esac
  BT_PGRP=$3 BT_START=${20}
}

bt_alive() { bt_proc "$1" && [ "$BT_START" = "$2" ]; } # PID START: the same process, not a later one of that number

bt_size() { # FILE: sets BT_SIZE
  BT_SIZE=$(stat -c %s -- "$1" 2>/dev/null) && return 0
  BT_S=$(ls -ldn -- "$1" 2>/dev/null) || { BT_SIZE=0; return 1; }
  set -f; set -- $BT_S; set +f
  BT_SIZE=$5
}

bt_marked() { # MARK...: prints `PID START` of every process that has all of these in its environment
  for BT_F in $(grep -lsF -- "$1" /proc/[0-9]*/environ 2>/dev/null); do
    BT_P=${BT_F#/proc/} BT_P=${BT_P%/environ}
    [ "$BT_P" != $$ ] && bt_proc "$BT_P" || continue
    BT_FOUND=$BT_START
    for BT_M; do
      tr '\0' '\n' 2>/dev/null <"$BT_F" | grep -qxF -- "$BT_M" || continue 2
    done
    bt_alive "$BT_P" "$BT_FOUND" && bt_say "$BT_P $BT_FOUND"
  done
}

bt_kill_marked() { # MARK...: SIGKILL until none is left; sets BT_LEFT to the number that will not die
  BT_N=0 BT_LEFT=0
  while :; do
    BT_LIST=$(bt_marked "$@")
    [ -n "$BT_LIST" ] || return 0
    [ "$BT_N" -lt 30 ] || break
    bt_say "$BT_LIST" | while read -r BT_P BT_T; do bt_alive "$BT_P" "$BT_T" && kill -KILL "$BT_P" 2>/dev/null; done
    BT_N=$((BT_N + 1))
    bt_nap 0.1
  done
  BT_LEFT=$(bt_say "$BT_LIST" | grep -c .)
}


bt_base() { # sets BT_BASE, ours and closed to others
  BT_BASE=/tmp/.benchtui-$(id -u)
  mkdir -m 700 "$BT_BASE" 2>/dev/null
  if [ -L "$BT_BASE" ] || [ ! -d "$BT_BASE" ] || [ ! -O "$BT_BASE" ]; then
    bt_die "$BT_BASE is not a directory of this user: somebody else made it"
  fi
}

bt_name() { # WORD...: each must be a plain file name
  for BT_W; do
    case $BT_W in '' | .* | *[!A-Za-z0-9._-]*) bt_die "bad name: $BT_W" ;; esac
  done
}

bt_task() { # RUN HOST TASK: goes to the task's directory
  bt_name "$@"
  bt_base
  BT_DIR=$BT_BASE/$1/$2/$3
  cd "$BT_DIR" 2>/dev/null || bt_die "no task $3 of run $1 on this host"
}

bt_record() { # sets BT_SUP, BT_SUP_START, BT_EPOCH, BT_BOOT of the task in the current directory
  BT_SUP= BT_SUP_START= BT_EPOCH= BT_BOOT=
  [ -e pid ] && read -r BT_SUP BT_SUP_START BT_EPOCH BT_BOOT 2>/dev/null <pid
}

bt_boot_id() { bt_get /proc/sys/kernel/random/boot_id || BT_GOT=unknown; }

bt_supervised() { # is the supervisor of the task in the current directory alive?
  bt_record && bt_boot_id && [ "$BT_BOOT" = "$BT_GOT" ] && bt_alive "$BT_SUP" "$BT_SUP_START"
}
