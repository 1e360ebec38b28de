# What a run has created, identified by file system, inode and time of birth, not by name. It is removed only while
# all of that matches the record, from within its directory, so that no path is resolved a second time.
#
# A place is `FILE-SYSTEM INODE STAMP`, a file `INODE STAMP`. A stamp is `b:BIRTH`, or `c:CHANGE` of a file whose file
# system keeps no birth: nothing writes to it once the run is over. Of a directory without a birth it is `-`.

bt_stats() { # ./NAME...: a line each, `-` for what is not there
  local map='' name='' line=''
  for name; do # keeps those that are there as arguments
    shift
    if [ -e "$name" ] || [ -L "$name" ]; then map=${map}1; set -- "$@" "$name"; else map=${map}0; fi
  done
  while [ -n "$map" ]; do
    line=-
    case $map in 1*) read -r line ;; esac
    bt_say "$line"
    map=${map#?}
  done <<BT_EOF
$(bt_stat "$@")
BT_EOF
}

bt_stat() { # ./NAME...: a line each
  local name='' out='' lines=0 format='%f %i %d %h %s %.9W %z'
  [ $# -gt 0 ] || return 0
  out=$(TZ=UTC0 stat -c "$format" -- "$@" 2>/dev/null)
  while read -r name; do lines=$((lines + 1)); done <<BT_EOF
$out
BT_EOF
  if [ "$lines" = $# ] && [ -n "$out" ]; then bt_say "$out"; return; fi
  for name; do TZ=UTC0 stat -c "$format" -- "$name" 2>/dev/null || bt_say -; done # one has just gone
}

bt_next() { # sets BT_KIND, BT_INODE, BT_DEV, BT_LINKS, BT_BYTES and BT_STAMP by a line of bt_stats on fd 9; fails at `-`
  local birth='' changed=''
  BT_KIND=
  read -r BT_KIND BT_INODE BT_DEV BT_LINKS BT_BYTES birth changed <&9
  case $BT_KIND in
    8???) BT_KIND=file BT_STAMP="c:$changed" ;;
    4???) BT_KIND=directory BT_STAMP=- ;;
    a???) BT_KIND='symbolic link' BT_STAMP=- ;;
    '' | -) return 1 ;;
    *) BT_KIND='special file' BT_STAMP=- ;;
  esac
  case $birth in '' | *[!0-9.]* | 0 | 0.*) ;; *) BT_STAMP=b:$birth ;; esac
}

bt_here() { # sets BT_PLACE and BT_HERE, its device, of the current directory; fails where stat cannot tell
  bt_next 9<<BT_EOF || return 1
$(bt_stats .)
BT_EOF
  BT_HERE=$BT_DEV
  bt_file_system "$BT_DEV"
  BT_PLACE="$BT_FILE_SYSTEM $BT_INODE $BT_STAMP"
}

bt_file_system() { # DEVICE: sets BT_FILE_SYSTEM; where the file system has an identity it is the same after a remount
  local type='' id='' source=''
  read -r type id <<BT_EOF
$(stat -f -c '%t %i' . 2>/dev/null)
BT_EOF
  case $type:$id in
    1021994:* | 858458f6:* | :*) BT_FILE_SYSTEM=$type:$id:$1 ;; # tmpfs and ramfs end with their mount
    *:*[!0]*) BT_FILE_SYSTEM=$type:$id ;;
    *) # none, as for NFS: identified by its source
      source=$(df -P . 2>/dev/null | tail -n 1)
      BT_FILE_SYSTEM=$type:${source%% *}
      ;;
  esac
}

bt_pwd() { pwd -P | od -An -v -tx1 | tr -d " \n"; } # the current directory in hexadecimal: names may hold any byte

bt_places() { # DIR...: the identity of each that exists
  local dir='' index=0
  for dir; do
    (cd -P -- "$dir" 2>/dev/null && bt_here && bt_say "at=$index $(bt_pwd) $BT_PLACE")
    index=$((index + 1))
  done
}

bt_identify() { # DIR ./NAME...: the identities of the directory, and of each of these names in it that exists
  local index=0
  cd -P -- "$1" 2>/dev/null && bt_here || return 0
  bt_kv real "$(bt_pwd)"
  bt_kv place "$BT_PLACE"
  shift
  while [ "$index" -lt $# ]; do
    bt_next && bt_say "at=$index $BT_INODE $BT_STAMP"
    index=$((index + 1))
  done 9<<BT_EOF
$(bt_stats "$@")
BT_EOF
}

# ---- removing --------------------------------------------------------------------------------------------------

bt_stand_in() { # DIR REAL PLACE: goes there; sets BT_WHY and fails unless it is the directory that was recorded
  BT_WHY=no-directory
  cd -P -- "$1" 2>/dev/null || return 1
  BT_WHY="leads-to $(bt_pwd)"
  [ "$(bt_pwd)" = "$2" ] || return 1
  BT_WHY=no-stat
  bt_here || return 1
  [ "$BT_PLACE" != "$3" ] || return 0
  BT_WHY=other-directory
  [ "${BT_PLACE%% *}" = "${3%% *}" ] || BT_WHY=other-file-system
  return 1
}

bt_mount_id() { # ./NAME: sets BT_MOUNT; empty if it cannot be opened, or before Linux 3.15
  local key='' value=''
  BT_MOUNT=
  { while read -r key value; do [ "$key" != mnt_id: ] || BT_MOUNT=$value; done </proc/self/fdinfo/7; } 2>/dev/null 7<"$1"
}

bt_is_on_mount() { # ./NAME: is the current directory on the same mount? Files of an overlay may have a device of their own
  local here=''
  bt_mount_id .
  here=$BT_MOUNT
  bt_mount_id "$1"
  [ -n "$here" ] && [ "$BT_MOUNT" = "$here" ]
}

bt_is_it() { # KIND SIZE INODE STAMP ./NAME: is the next line of bt_stats what was recorded? Else sets BT_WHY. SIZE -: any
  BT_WHY=absent
  bt_next || return 1
  BT_WHY="kind $BT_KIND"
  [ "$BT_KIND" = "$1" ] || return 1
  BT_WHY=mounted
  [ "$BT_DEV" = "$BT_HERE" ] || { [ "$1" = file ] && bt_is_on_mount "$5"; } || return 1
  BT_WHY=other
  [ "$BT_INODE" = "$3" ] && { [ "$4" = - ] || [ "$4" = "$BT_STAMP" ]; } || return 1
  [ "$BT_KIND" = file ] || return 0
  BT_WHY="links $BT_LINKS"
  [ "$BT_LINKS" = 1 ] || return 1
  BT_WHY="size $BT_BYTES"
  [ "$2" = - ] || [ "$2" = "$BT_BYTES" ]
}

bt_unmake() { # look|remove KIND DIR REAL PLACE EXPECTED ./NAME...: reports the state or the outcome of each
  local how="$1" kind="$2" expected="$6" name='' size='' inode='' stamp='' index=0 there=1
  bt_stand_in "$3" "$4" "$5" || there=0
  shift 6
  for name; do # keeps those that are as recorded as arguments
    shift
    read -r size inode stamp <&8
    if [ "$there" = 1 ] && bt_is_it "$kind" "$size" "$inode" "$stamp" "$name"; then
      set -- "$@" "$name"
    else
      set -- "$@" ''
      bt_say "at=$index $BT_WHY"
    fi
    index=$((index + 1))
  done 8<<BT_EXPECTED 9<<BT_FOUND
$expected
BT_EXPECTED
$([ "$there" = 0 ] || bt_stats "$@")
BT_FOUND
  [ "$how" = look ] || bt_unlink "$kind" "$@"
  index=0
  for name; do
    [ -z "$name" ] || bt_say "at=$index $(bt_became "$how" "$name")"
    index=$((index + 1))
  done
}

bt_became() { # look|remove ./NAME
  if [ "$1" = look ]; then bt_say as-made; elif [ -e "$2" ] || [ -L "$2" ]; then bt_say stuck; else bt_say removed; fi
}

bt_unlink() { # KIND ./NAME...: in the current directory; empty words are none
  local kind="$1" name=''
  shift
  if [ "$kind" = file ]; then bt_rm "$@"; return; fi
  for name; do [ -z "$name" ] || rmdir -- "$name" 2>/dev/null; done
}

bt_rm() { # ./FILE...: empty words are none
  local file=''
  for file; do shift; [ -z "$file" ] || set -- "$@" "$file"; done
  [ $# -eq 0 ] || rm -f -- "$@" 2>/dev/null
}

# ---- a directory removed with its content ----------------------------------------------------------------------

bt_unmake_tree() { # look|empty|remove|share DIR REAL PLACE EXPECTED ./NAME [INDEX COUNT]: with what is below it
  local how="$1" name="$6" size='' inode='' stamp=''
  case $name in ./benchtui-?*) ;; *) bt_die "not a directory of a run: $name" ;; esac
  if bt_stand_in "$2" "$3" "$4"; then
    read -r size inode stamp <<BT_EOF
$5
BT_EOF
    if bt_is_it directory "$size" "$inode" "$stamp" "$name" 9<<BT_EOF
$(bt_stats "$name")
BT_EOF
    then
      BT_WHY=$(bt_in_tree "$how" "$name" "$inode $stamp" "${7:-0}" "${8:-1}")
      case $how in empty | remove) rmdir -- "$name" 2>/dev/null ;; esac
      # gone while this looked: another host that shares it was faster
      [ -z "$BT_WHY" ] || [ -e "$name" ] || [ -L "$name" ] || BT_WHY=absent
      BT_WHY=${BT_WHY:-$(bt_became "$how" "$name")}
    fi
  fi
  bt_say "at=0 $BT_WHY"
}

bt_in_tree() { # look|empty|remove|share ./NAME INODE-STAMP INDEX COUNT: works below NAME; prints why it could not
  cd -P -- "$2" 2>/dev/null && bt_here && [ "$BT_INODE $BT_STAMP" = "$3" ] || { bt_say other; return; }
  ! bt_mounted_below || { bt_say mounted-below; return; }
  case $1 in
    empty) bt_rmdir_three_levels ;;
    remove) find . ! -name . -prune -exec rm -rf -- {} \; 2>/dev/null ;;
    share) bt_remove_share "$4" "$5" ;;
  esac
  :
}

bt_rmdir_three_levels() { # empty directories, deepest first: IO500 may leave some. Never walks a large tree
  rmdir -- ./*/*/* 2>/dev/null
  rmdir -- ./*/* 2>/dev/null
  rmdir -- ./* 2>/dev/null
}

bt_remove_share() { # INDEX COUNT: every COUNT-th part of a tree three levels down, so that all hosts remove at once
  local part='' index=0
  for part in ./*/*/*; do
    [ $((index % $2)) != "$1" ] || [ ! -e "$part" ] || rm -rf -- "$part"
    index=$((index + 1))
  done
}

bt_mounted_below() { # is anything mounted below the current directory? A name that reads like a pattern may say yes too soon
  local pattern='' point='' _=''
  pattern=$(pwd -P | tr ' \t\n\\#*?[]' '*********')
  pattern=${pattern%\*} # the newline at the end
  # shellcheck disable=SC2034
  while read -r _ _ _ _ point _; do
    # shellcheck disable=SC2254  # a pattern
    case $point in $pattern/*) return 0 ;; esac
  done </proc/self/mountinfo
  return 1
}

# ---- numbered files: too many to be named one by one, so a checksum identifies them all ---------------------------

bt_identify_numbered() { # DIR PREFIX SUFFIX COUNT
  cd -P -- "$1" 2>/dev/null && bt_here || return 0
  bt_kv real "$(bt_pwd)"
  bt_kv place "$BT_PLACE"
  bt_say "at=0 $(bt_sum_numbered "$2" "$3" "$4")"
}

bt_unmake_numbered() { # look|remove DIR REAL PLACE SUM PREFIX SUFFIX COUNT: all of them, or none
  local sum=''
  if bt_stand_in "$2" "$3" "$4"; then
    sum=$(bt_sum_numbered "$6" "$7" "$8")
    BT_WHY=other
    if [ "$sum" = - ]; then
      BT_WHY=absent
    elif [ "$sum" = "$5" ]; then
      BT_WHY=as-made
      [ "$1" = look ] || BT_WHY=$(bt_rm_numbered "$6" "$7" "$8")
    fi
  fi
  bt_say "at=0 $BT_WHY"
}

bt_sum_numbered() { # PREFIX SUFFIX COUNT: a sum of what they are in the current directory; `-` when there is none
  bt_each_numbered bt_say_identities "$@" | cksum | while read -r sum size; do
    if [ "$size" = 0 ]; then bt_say -; else bt_say "$sum-$size"; fi
  done
}

bt_rm_numbered() { # PREFIX SUFFIX COUNT: reports the outcome: removed, or stuck
  bt_each_numbered bt_rm "$@"
  if [ -n "$(bt_each_numbered bt_say_identities "$@" | head -n 1)" ]; then bt_say stuck; else bt_say removed; fi
}

bt_each_numbered() { # COMMAND PREFIX SUFFIX COUNT: runs it with 200 names at a time
  local command="$1" prefix="./$2" suffix="$3" count="$4" file=''
  set --
  for file in "$prefix"[0-9]*"$suffix"; do
    bt_is_numbered "$file" "$prefix" "$suffix" "$count" && { [ -e "$file" ] || [ -L "$file" ]; } || continue
    set -- "$@" "$file"
    [ $# -lt 200 ] || { "$command" "$@"; set --; }
  done
  [ $# -eq 0 ] || "$command" "$@"
}

bt_say_identities() { # ./NAME...: kind, identity and size of each
  local left=$#
  while [ "$left" -gt 0 ]; do
    bt_next && bt_say "$BT_KIND $BT_DEV $BT_INODE $BT_LINKS $BT_BYTES $BT_STAMP"
    left=$((left - 1))
  done 9<<BT_EOF
$(bt_stats "$@")
BT_EOF
}
