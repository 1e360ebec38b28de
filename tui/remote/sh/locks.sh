# A lock is one file in a directory that every user may write to. It holds until an uptime that the stream's leases
# push on, so it goes with its run, and a reboot ends it.

bt_locks() { # sets BT_LOCKS
  BT_LOCKS=${BENCHTUI_LOCKS:-/tmp/.benchtui-locks}
  (umask 0; mkdir -m 1777 "$BT_LOCKS" 2>/dev/null)
  [ -d "$BT_LOCKS" ] && [ ! -L "$BT_LOCKS" ] || bt_die "$BT_LOCKS is not a directory"
}

bt_lock() { # RUN HOST SECONDS FORCE OWNER: takes the lock, or reports who holds it
  bt_name "$1" "$2"
  bt_locks
  bt_lock_write "$1" "$2" "$3" "$5" || bt_die "cannot write to $BT_LOCKS"
  for BT_F in "$BT_LOCKS"/lock.*; do
    bt_lock_live "$BT_F" && [ "$BT_RUN" != "$1" ] || continue
    bt_kv held_by "$BT_OWNER"
    bt_kv held_run "$BT_RUN"
    bt_kv held_s "$((BT_UNTIL - BT_UP))"
    [ "$4" = 1 ] || rm -f "$BT_LOCKS/lock.$(id -u).$1.$2"
    return 0
  done
}

bt_lock_write() { # RUN HOST SECONDS OWNER
  bt_boot_id
  bt_uptime
  # everybody may write there: a name that somebody laid in wait is removed, and never followed (set -C is O_EXCL)
  (umask 022; cd "$BT_LOCKS" && BT_F=lock.$(id -u).$1.$2 && rm -f ".$BT_F.$$" && set -C &&
    bt_put "$BT_F" "$((BT_UP + $3)) $BT_GOT $3 $1 $4")
}

bt_lock_live() { # FILE: sets BT_UNTIL, BT_RUN and BT_OWNER of a lock that holds; clears away our own old ones
  BT_UNTIL=0 BT_RUN= BT_OWNER= BT_BOOT=
  [ -f "$1" ] && read -r BT_UNTIL BT_BOOT BT_X BT_RUN BT_OWNER 2>/dev/null <"$1" || return 1
  bt_boot_id
  bt_uptime
  case $BT_UNTIL in '' | *[!0-9]*) return 1 ;; esac
  [ "$BT_BOOT" = "$BT_GOT" ] && [ "$BT_UNTIL" -gt "$BT_UP" ] && return 0
  rm -f "$1" 2>/dev/null
  return 1
}

bt_lock_renew() { # RUN HOST: pushes on the lock that this user holds for a run
  BT_LOCKS=${BENCHTUI_LOCKS:-/tmp/.benchtui-locks}
  BT_F=$BT_LOCKS/lock.$(id -u).$1.$2
  [ -f "$BT_F" ] && read -r BT_UNTIL BT_BOOT BT_N BT_RUN BT_OWNER 2>/dev/null <"$BT_F" || return 0
  bt_lock_write "$1" "$2" "$BT_N" "$BT_OWNER" 2>/dev/null
}

bt_unlock() { # RUN HOST
  bt_name "$1" "$2"
  bt_locks
  rm -f "$BT_LOCKS/lock.$(id -u).$1.$2"
  rmdir "$BT_LOCKS" 2>/dev/null
  :
}
