# benchtui agent: POSIX sh and `local`, sent over stdin to /bin/sh on every host. Nothing is installed. Which parts there
# are and how they are joined: tui/remote/scripts.py.
#
# These files only define functions. The client appends one group, `{ bt_begin ...; bt_COMMAND ...; bt_end 0; }`, so a
# script that was cut anywhere is a syntax error or a list of unused functions, and does nothing.
#
# It runs under dash, bash, busybox ash and mksh. Arithmetic stays below 2^31, which is all that mksh has: sizes are
# printed in the unit they were read in (_kib, _sectors) and multiplied by the client. bash executes text in a[...]
# inside $(( )): nothing that was read goes there before bt_is_count. `local x=` always has a value: dash inherits one.
#
# Lower-case names are local; upper-case names are results for the caller (as documented) or belong to the task.
#
# Answers are KEY=VALUE lines between `BT-BEGIN token` and `BT-END token code`; a value ends at its newline.
# Every process of a load carries BENCHTUI_RUN, BENCHTUI_HOST and BENCHTUI_TASK in its environment: fio's workers call
# setsid(), so neither a process group nor a session holds them together. The agent's own processes on the host, which
# outlive the channel, carry BENCHTUI_AGENT=RUN/HOST/TASK from their exec on, and no load does.

BT_NL='
'
PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin
LC_ALL=C
export PATH LC_ALL
BT_UID=$(id -u)

# ---- answers ---------------------------------------------------------------------------------------------------

case ${KSH_VERSION-} in
  '') bt_say() { printf '%s\n' "$*"; } ;;
  *) bt_say() { print -r -- "$*"; } ;;
esac

bt_kv() { # KEY VALUE
  case $2 in
    *"$BT_NL"*) bt_say "$1=$(bt_say "$2" | tr '\n' ' ')" ;;
    *) bt_say "$1=$2" ;;
  esac
}

bt_flag() { # KEY COMMAND...: 1 when the command succeeds, else nothing
  local key="$1"
  shift
  if "$@"; then bt_say "$key=1"; else bt_say "$key="; fi
}

bt_begin() { # TOKEN: the agent's files are private to this user; the load and its directories keep the user's umask
  BT_TOKEN=$1 BT_GIVEN_UMASK=$(umask)
  umask 077
  bt_say "BT-BEGIN $BT_TOKEN"
}
bt_end() { bt_say "BT-END $BT_TOKEN $1"; exit "$1"; }
bt_die() { bt_kv error "$1"; bt_end 1; }

bt_over() { bt_say "BT-OVER $1 $2"; bt_say "BT-OVER $1 $2" >&2; } # TOKEN CODE: a call in a shell that answers several

# ---- files and processes ---------------------------------------------------------------------------------------

bt_is_count() { # WORD: is it a number that every shell can calculate with?
  case $1 in '' | *[!0-9]* | 0?* | ??????????*) return 1 ;; esac
}

bt_put() { bt_say "$2" >".$1.$$" && mv -f ".$1.$$" "$1"; } # NAME LINE: readers see the old line or the new one

bt_get() { # FILE: sets BT_GOT to its first line, empty if there is none
  BT_GOT=
  [ -e "$1" ] || return 1
  read -r BT_GOT 2>/dev/null <"$1"
  return 0
}

bt_nap() { sleep "$1" 2>/dev/null || sleep 1; } # not every sleep accepts fractions

bt_uptime() { # sets BT_UP: uptime in seconds, immune to clock steps
  local rest=''
  if read -r BT_UP rest 2>/dev/null </proc/uptime; then BT_UP=${BT_UP%%.*}; else BT_UP=$(date +%s); fi
}

bt_proc() { # PID: sets BT_START and BT_PGRP; fails when it is gone or a zombie
  local stat=''
  BT_START=0 BT_PGRP=0
  [ -n "$1" ] || return 1
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
  case $stat in *') '*) ;; *) stat=$(tr '\n' ' ' 2>/dev/null <"/proc/$1/stat") ;; esac
  # shellcheck disable=SC2086  # split into its fields
  set -- ${stat##*') '}
  case ${1:-X} in Z | X | x) return 1 ;; esac
  BT_PGRP=$3 BT_START=${20}
}

bt_alive() { bt_proc "$1" && [ "$BT_START" = "$2" ]; } # PID START: the same process, not a later one with that pid

bt_size() { # FILE: sets BT_SIZE
  local listed=''
  BT_SIZE=$(stat -c %s -- "$1" 2>/dev/null) && return 0
  listed=$(ls -ldn -- "$1" 2>/dev/null) || { BT_SIZE=0; return 1; }
  set -f
  # shellcheck disable=SC2086  # split into its columns
  set -- $listed
  set +f
  BT_SIZE=$5
}

bt_environ() { # PID: prints its environment, one variable per line
  tr '\0' '\n' 2>/dev/null <"/proc/$1/environ"
}

bt_marked() { # MARK...: prints PID:START of every process that has all of these in its environment
  local file='' pid='' start='' all='' mark=''
  for file in $(grep -lsF -- "$1" /proc/[0-9]*/environ 2>/dev/null); do
    pid=${file#/proc/} pid=${pid%/environ}
    [ "$pid" != $$ ] && bt_proc "$pid" || continue
    start=$BT_START all=$BT_NL$(bt_environ "$pid")$BT_NL
    for mark; do
      case $all in *"$BT_NL$mark$BT_NL"*) ;; *) continue 2 ;; esac
    done
    bt_alive "$pid" "$start" && bt_say "$pid:$start"
  done
}

bt_kill() { bt_alive "$1" "$2" && kill -KILL "$1" 2>/dev/null; } # PID START

bt_kill_listed() { # PID:START...
  local each=''
  for each; do bt_kill "${each%:*}" "${each#*:}"; done
}

bt_kill_marked() { # MARK...: SIGKILL until none is left; sets BT_LEFT to the number that will not die
  local tries=0 list=''
  BT_LEFT=0
  while :; do
    list=$(bt_marked "$@")
    [ -n "$list" ] || return 0
    [ "$tries" -lt 30 ] || break
    # shellcheck disable=SC2086  # a word a process
    bt_kill_listed $list
    tries=$((tries + 1))
    bt_nap 0.1
  done
  # shellcheck disable=SC2086
  set -- $list
  BT_LEFT=$#
}

bt_limited() { # SECONDS COMMAND...: runs it with our mark; kills it after this time, and returns 124
  local seconds="$1" limit='' code=0 task="look-$BT_TOKEN"
  shift
  timeout -s KILL 9 true 2>/dev/null && limit="timeout -s KILL $seconds"
  (
    BENCHTUI_RUN=${BT_CALLER%%/*} BENCHTUI_HOST=${BT_CALLER#*/} BENCHTUI_TASK=$task
    export BENCHTUI_RUN BENCHTUI_HOST BENCHTUI_TASK
    # shellcheck disable=SC2086  # none, or a command and its words
    exec $limit "$@" </dev/null
  )
  code=$?
  [ "$code" = 137 ] || return "$code"
  bt_kill_marked "BENCHTUI_TASK=$task" # its children in sessions of their own
  return 124
}

# ---- private directories ---------------------------------------------------------------------------------------

bt_ours() { [ ! -L "$1" ] && [ -d "$1" ] && [ -O "$1" ]; } # DIR

bt_own_dir() { # DIR MODE: creates it, or checks that it is ours; fails if another user owns it, or it is a link
  local tries=0
  until bt_ours "$1"; do # another run that ends may remove it while it is empty, also between these two
    mkdir -m "$2" "$1" 2>/dev/null && return
    [ "$tries" -lt 10 ] || return 1
    tries=$((tries + 1))
  done
}

bt_base() { # sets BT_BASE, private to this user
  BT_BASE=/tmp/.benchtui-$BT_UID
  bt_own_dir "$BT_BASE" 700 || bt_not_ours "$BT_BASE"
}

bt_prefer_carried() { # copied programs precede those of the host; sets BT_CARRIED to 0 if they are gone
  local dir="/tmp/.benchtui-$BT_UID/$BT_CALLER/with"
  BT_CARRIED=0
  ! bt_ours "/tmp/.benchtui-$BT_UID" || ! bt_ours "$dir" || { PATH=$dir:$PATH BT_CARRIED=1; }
}

bt_not_ours() { # DIR: dies with the reason why our directory cannot be used
  local said=''
  [ -e "$1" ] || [ -L "$1" ] || said=$(mkdir -m 700 "$1" 2>&1)
  [ -z "$said" ] || bt_die "cannot create $1: ${said##*: }"
  bt_die "$1 is not a directory of this user: another user created it"
}

bt_name() { # WORD...: each must be a plain file name
  local word=''
  for word; do
    case $word in '' | .* | *[!A-Za-z0-9._-]*) bt_die "bad name: $word" ;; esac
  done
}

bt_task() { # RUN HOST TASK: goes to the task's directory
  bt_name "$@"
  bt_base
  cd "$BT_BASE/$1/$2/$3" 2>/dev/null || bt_die "no task $3 of run $1 on this host"
}

bt_record() { # sets BT_SUP, BT_SUP_START, BT_EPOCH, BT_BOOT of the task in the current directory
  BT_SUP='' BT_SUP_START='' BT_EPOCH='' BT_BOOT=''
  [ -e pid ] && read -r BT_SUP BT_SUP_START BT_EPOCH BT_BOOT 2>/dev/null <pid
}

bt_end_streamer() { # ends the streamer of the task in the current directory, with its children
  local pid='' start=''
  [ -e streamer ] && read -r _ pid start <streamer
  bt_alive "$pid" "$start" || return 0
  if [ "$BT_PGRP" = "$pid" ]; then kill -s KILL -- "-$pid" 2>/dev/null; else kill -KILL "$pid" 2>/dev/null; fi
  return 0
}

bt_boot_id() { bt_get /proc/sys/kernel/random/boot_id || BT_GOT=unknown; }

bt_supervised() { # is the supervisor of the task in the current directory alive?
  bt_record && bt_boot_id && [ "$BT_BOOT" = "$BT_GOT" ] && bt_alive "$BT_SUP" "$BT_SUP_START"
}
