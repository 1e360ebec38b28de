# What the processes of a load run, and the files that they have open.

bt_open_files() { # RUN HOST JOB-FILE [PROGRAM]: files and block devices that loads have open: `open=PID FLAGS PATH`, FLAGS octal;
  # of each such process `ran=PID SUM PRELOAD WORDS`: cksum of its job file, libraries of LD_PRELOAD; of at most 32;
  # `stamp=CTIME|MTIME|FILE` of its job file and of a file made behind that, `mapped=PID PATH` of libraries elsewhere
  # `program=PID PATH`: it is another program than PROGRAM
  local job="$3" program="${4-}" each='' pid='' pids='' opened='' sums='' path='' rest='' with=''
  for each in $(bt_marked "BENCHTUI_RUN=$1" "BENCHTUI_HOST=$2" | head -n 32); do pids="$pids ${each%:*}"; done
  [ -n "$pids" ] || return 0
  # few processes are started here, and each for all loads: it is during a measurement
  # shellcheck disable=SC2086  # numbers
  opened=$(bt_descriptors $pids)
  [ -n "$opened" ] || return 0
  bt_say "$opened"
  set --
  for pid in $pids; do set -- "$@" "/proc/$pid/cwd/$job"; done
  while read -r each rest path; do
    path=${path#/proc/}
    sums="$sums ${path%%/*}=$each:$rest"
  done <<BT_EOF
$(cksum "$@" 2>/dev/null)
BT_EOF
  set --
  for pid in $pids; do set -- "$@" "/proc/$pid/cwd/$job" "/proc/$pid/cwd/reserve.done"; done
  rest=$(stat -c 'stamp=%z|%y|%n' "$@" 2>/dev/null)
  [ -z "$rest" ] || bt_say "$rest"
  # shellcheck disable=SC2086  # numbers
  bt_mapped $pids
  # shellcheck disable=SC2086  # numbers
  bt_other_programs "$program" $pids
  set --
  for pid in $pids; do set -- "$@" "/proc/$pid/environ"; done
  with=" $(grep -ls LD_PRELOAD= "$@" 2>/dev/null | tr '\n' ' ')"
  for pid in $pids; do
    case $BT_NL$opened in *"${BT_NL}open=$pid "*) ;; *) continue ;; esac
    each='-' rest=''
    case "$sums " in *" $pid="*) each=${sums##* "$pid"=} each=${each%% *} ;; esac
    case $with in *" /proc/$pid/environ "*) rest=y ;; *) [ ! -s "/proc/$pid/root/etc/ld.so.preload" ] || rest=y ;; esac
    [ -z "$rest" ] ||
      rest=$({ bt_environ "$pid" | sed -n 's/^LD_PRELOAD=//p' && cat "/proc/$pid/root/etc/ld.so.preload"; } 2>/dev/null |
        tr -s ' \n' ::)
    path=$(tr '\0\n' '  ' 2>/dev/null <"/proc/$pid/cmdline")
    # the end of a long line: the program's own arguments are there, whatever started it
    [ ${#path} -le 4096 ] || path=$(bt_say "$path" | tail -c 4097)
    bt_say "ran=$pid $each ${rest:--} $path"
  done
}

bt_files_elsewhere() { # JOB-FILE PID... -- PLANNED...: `elsewhere=PID PATH`, at most 16: files and block devices that loads
  # may have in place of the planned files; none if a load has one of these open, by whatever name, or if that is unknown
  local job="$1" pids='' pid='' fd='' path='' each='' found='' count=0
  shift
  while [ "$1" != -- ]; do pids="$pids $1"; shift; done
  shift
  # shellcheck disable=SC3013  # not POSIX, so it is tried first
  [ / -ef / ] 2>/dev/null || return 0
  # this costs no process
  for pid in $pids; do
    for fd in "/proc/$pid/fd"/*; do
      [ -f "$fd" ] || [ -b "$fd" ] || continue
      # shellcheck disable=SC3013
      for each; do [ ! "$fd" -ef "$each" ] || return 0; done
    done
  done
  # and this one for each file
  for pid in $pids; do
    # shellcheck disable=SC3013  # in another mount namespace, names are of other files
    [ -e "/proc/$pid/cwd/$job" ] && [ "/proc/$pid/ns/mnt" -ef /proc/self/ns/mnt ] || continue
    for fd in "/proc/$pid/fd"/*; do
      [ -f "$fd" ] || [ -b "$fd" ] && bt_may_be_data "$pid" "${fd##*/}" || continue
      path=$(readlink "$fd") || continue
      # shellcheck disable=SC3013  # a copy-up of overlayfs, for example: another file by the planned name
      for each; do [ ! "$path" -ef "$each" ] || return 0; done
      case $path in /proc/* | /sys/* | /memfd:* | [!/]* | *"$BT_NL"*) continue ;; esac # anon_inode:[timerfd] is a file, too
      # shellcheck disable=SC3013
      [ ! "${path%/*}" -ef "/proc/$pid/cwd" ] || continue
      found="$found${found:+$BT_NL}elsewhere=$pid $path" count=$((count + 1))
      [ "$count" -lt 16 ] || break 2
    done
  done
  [ -z "$found" ] || bt_say "$found"
}

bt_may_be_data() { # PID FD: no log, which is only written to (O_WRONLY), and no script (close-on-exec)
  local name='' flags=''
  while read -r name flags; do
    [ "$name" != flags: ] || break
  done 2>/dev/null <"/proc/$1/fdinfo/$2"
  case $flags in '' | *[15] | *[2367]??????) return 1 ;; esac
}

bt_other_programs() { # PROGRAM PID...: `program=PID PATH` of processes that run another file; costs a process for these only
  local program="$1" pid='' path=''
  shift
  # shellcheck disable=SC3013  # not POSIX, so it is tried first
  [ -n "$program" ] && [ "$program" -ef "$program" ] 2>/dev/null || return 0
  for pid; do
    # shellcheck disable=SC3013
    [ "/proc/$pid/exe" -ef "$program" ] || path=$(readlink "/proc/$pid/exe" 2>/dev/null) || continue
    [ -z "$path" ] || bt_say "program=$pid $path"
    path=''
  done
}

bt_mapped() { # PID...: `mapped=PID PATH` of libraries outside of the system's directories that has one of this name
  local line='' path='' pid='' twin='' stem=''
  for pid; do shift; set -- "$@" "/proc/$pid/maps"; done
  grep -HsE '^[0-9a-f]+-[0-9a-f]+ r-x[ps] .* /.*\.so' /dev/null "$@" |
    grep -vE ' /(usr/)?lib(exec|x?[0-9]+)?/' | while read -r line; do
    pid=${line#/proc/} pid=${pid%%/*} path=/${line#* /}
    stem=${path##*/} stem=${stem%%.so*}
    for twin in "/proc/$pid/root"/lib*/"$stem".so* "/proc/$pid/root"/lib*/*/"$stem".so* \
      "/proc/$pid/root"/usr/lib*/"$stem".so* "/proc/$pid/root"/usr/lib*/*/"$stem".so*; do
      [ ! -e "$twin" ] || { bt_say "mapped=$pid $path" && break; }
    done
  done
}

bt_descriptors() { # PID...: where each descriptor leads, and its flags: `open=PID FLAGS PATH`, at most 32 of a process
  local pid=''
  for pid; do shift; set -- "$@" "/proc/$pid/fd"; done
  # shellcheck disable=SC2012,SC2016  # one process for all descriptors, as find -printf is not POSIX; awk's dollars
  {
    ls -l /proc/$$/task "$@" # more than one directory, so that each has its heading
    for pid; do grep -H '^flags:' "${pid}info"/[0-9]*; done
  } 2>/dev/null | ${BENCHTUI_AWK:-awk} '
    /^\/proc\/[0-9]+\/fd:$/ { split($0, part, "/"); pid = part[3]; next }
    /^\/proc\/[0-9]+\/fdinfo\/[0-9]+:flags:/ {
      split($1, part, "/")
      at = part[3] " " part[5] + 0
      if (!(at in path) || path[at] ~ /^\/(proc|sys)\// || told[part[3] " " $2 " " path[at]]++) next
      if (count[part[3]]++ < 32) print "open=" part[3] " " $2 " " path[at]
      next
    }
    / -> \// { match($0, / -> \//); split(substr($0, 1, RSTART - 1), part, " "); n = 0
      for (each in part) n++
      path[pid " " part[n]] = substr($0, RSTART + 4) }'
}
