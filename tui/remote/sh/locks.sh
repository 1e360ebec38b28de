# One user at a time. A lock is a file in a directory that only its user can write to and everybody can read: one
# directory per user, because the owner of a shared one could replace other users' files. A lock holds until an uptime
# that renewals of the stream's lease extend, so it expires with its run, and a reboot ends it.

bt_locks() { # sets BT_LOCKS, the directory of this user's locks; fails if another user created it
  BT_LOCKS=${BENCHTUI_LOCKS:-/tmp/.benchtui-locks}-$BT_UID
  bt_own_dir "$BT_LOCKS" 755
}

bt_locks_or_die() { bt_locks || bt_not_ours "$BT_LOCKS"; }

bt_lock() { # RUN HOST SECONDS FORCE OWNER: takes the lock, or reports its holder
  local all="${BENCHTUI_LOCKS:-/tmp/.benchtui-locks}" file='' tries=0
  bt_name "$1" "$2"
  bt_is_count "$3" || bt_die "not a number of seconds: $3"
  until bt_locks_or_die && bt_lock_write "$1" "$2" "$3" "$5" 2>/dev/null; do # unlocking removes an empty one
    [ "$tries" -lt 10 ] || bt_die "cannot write to $BT_LOCKS"
    tries=$((tries + 1))
  done
  for file in "$all"/lock.* "$all"-*/lock.*; do # older versions shared one directory
    bt_lock_live "$file" && [ "$BT_LOCK_RUN" != "$1" ] || continue
    bt_lock_tell
    [ "$4" = 1 ] || rm -f "$BT_LOCKS/lock.$1.$2"
    return 0
  done
}

bt_locked() { # RUN: reports the other run that holds the host, without changes
  local all="${BENCHTUI_LOCKS:-/tmp/.benchtui-locks}" file=''
  for file in "$all"/lock.* "$all"-*/lock.*; do
    bt_lock_holds "$file" && [ "$BT_LOCK_RUN" != "$1" ] || continue
    bt_lock_tell
    return 0
  done
}

bt_lock_tell() { # reports the lock that was read
  bt_kv held_by "$BT_LOCK_OWNER"
  bt_kv held_run "$BT_LOCK_RUN"
  bt_kv held_s "$((BT_LOCK_UNTIL - BT_UP))"
}

bt_lock_write() { # RUN HOST SECONDS OWNER
  bt_boot_id
  bt_uptime
  (umask 022; cd "$BT_LOCKS" && bt_put "lock.$1.$2" "$((BT_UP + $3)) $BT_GOT $3 $1 $4")
}

bt_lock_read() { # FILE: sets BT_LOCK_UNTIL, _SECONDS, _RUN and _OWNER; fails unless it is a lock of this boot
  local boot='' text=''
  BT_LOCK_UNTIL='' BT_LOCK_SECONDS='' BT_LOCK_RUN='' BT_LOCK_OWNER=''
  [ -f "$1" ] && [ ! -L "$1" ] || return 1
  text=$(dd if="$1" bs=1024 count=1 2>/dev/null) # it may be another user's, and endless
  read -r BT_LOCK_UNTIL boot BT_LOCK_SECONDS BT_LOCK_RUN BT_LOCK_OWNER <<BT_EOF
$text
BT_EOF
  bt_boot_id
  [ "$boot" = "$BT_GOT" ] && bt_is_count "$BT_LOCK_UNTIL" && bt_is_count "$BT_LOCK_SECONDS"
}

bt_lock_holds() { # FILE: reads a lock; fails unless it holds
  bt_lock_read "$1" && bt_uptime && [ "$BT_LOCK_UNTIL" -gt "$BT_UP" ]
}

bt_lock_live() { # FILE: reads a valid lock; removes our own expired ones
  bt_lock_holds "$1" && return 0
  case $1 in "$BT_LOCKS"/*) [ ! -f "$1" ] || rm -f "$1" ;; esac
  return 1
}

bt_lock_renew() { # RUN HOST: extends this user's lock for a run
  bt_locks && bt_lock_read "$BT_LOCKS/lock.$1.$2" && bt_lock_write "$1" "$2" "$BT_LOCK_SECONDS" "$BT_LOCK_OWNER"
}

bt_unlock() { # RUN HOST
  bt_name "$1" "$2"
  bt_locks_or_die
  rm -f "$BT_LOCKS/lock.$1.$2"
  rmdir "$BT_LOCKS" 2>/dev/null
  :
}
