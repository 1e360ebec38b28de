# Functions sent with the agent for MPI programs: facts of a host, and leftovers on it.

bt_mpi_version() { # KEY NAME: path and version line of a launcher, if installed
  local path=''
  path=$(command -v "$2" 2>/dev/null) || return 0
  bt_kv "$1" "$path|$(bt_limited 9 "$path" --version 2>&1 | sed 6q | tr -s ' \n' '  ')"
}

bt_mpi_proxy() { # KEY NAME BESIDE...: path of a proxy: on PATH, or next to one of these programs
  local key="$1" name="$2" path='' beside=''
  shift 2
  path=$(command -v "$name" 2>/dev/null)
  for beside; do
    [ -z "$path" ] || break
    beside=$(command -v "$beside" 2>/dev/null) && beside=$(readlink -f -- "$beside") || continue
    [ -x "${beside%/*}/$name" ] && path=${beside%/*}/$name
  done
  bt_kv "$key" "$path"
}

bt_mpi_probe() { # DIR PROGRAM: facts of this host and the directory for MPI
  local dir="$1" program="$2" name=''
  bt_kv hostname "$(uname -n)"
  bt_kv os "$(bt_os)"
  bt_kv user "$(id -un 2>/dev/null || bt_say "$BT_UID")"
  bt_boot_id; bt_kv boot_id "$BT_GOT"
  bt_kv uid "$BT_UID"
  bt_kv cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null)"
  set -f
  # shellcheck disable=SC2086  # client address and port, server address and port
  set -- ${SSH_CONNECTION-}
  set +f
  bt_kv ssh_address "${3-}"
  bt_kv addresses "$(bt_mpi_addresses)"
  for name in mpiexec.hydra mpiexec.mpich mpiexec mpirun.openmpi mpirun; do bt_mpi_version "launcher.$name" "$name"; done
  bt_mpi_proxy hydra_pmi_proxy hydra_pmi_proxy mpiexec.hydra mpiexec
  bt_mpi_proxy orted orted mpirun.openmpi mpirun
  bt_mpi_program "$program"
  bt_mpi_directory "$dir"
}

bt_mpi_addresses() {
  local _='' family='' address=''
  (ip -o addr show 2>/dev/null || hostname -I 2>/dev/null | tr ' ' '\n' | sed 's/^/- - inet /') |
    while read -r _ _ family address _; do
      case $family in inet | inet6) printf '%s ' "$address" ;; esac
    done
}

bt_mpi_program() { # PROGRAM: its path, its type, and the MPI it is linked with
  local path=''
  path=$(command -v -- "$1" 2>/dev/null) || { [ -e "$1" ] && bt_kv not_executable "$1"; return 0; }
  case $path in /*) ;; *) return 0 ;; esac
  bt_kv program "$path"
  bt_kv sum "$(cksum <"$path" 2>/dev/null)"
  bt_kv library "$(ldd "$path" 2>/dev/null | grep -E 'libmpi(ch)?\.|libmpi_|libmpich' | sed 1q | tr -s '\t ' '  ')"
  bt_kv missing "$(ldd "$path" 2>/dev/null | grep 'not found' | sed 3q | tr -s '\t\n ' '   ')"
  bt_kv script "$(dd if="$path" bs=2 count=1 2>/dev/null | grep -c '^#!')"
  bt_kv running "$(cat /proc/[0-9]*/comm 2>/dev/null | grep -cxF -- "${path##*/}")"
}

bt_mpi_free() { # KEY OPTION DIR: free space or inodes in a directory's file system, from df
  local BT_TEXT='' BT_WORD='' line=''
  line=$(df "$2" -- "$3" 2>/dev/null)
  BT_TEXT=${line##*"$BT_NL"}
  BT_TEXT=${BT_TEXT%%% *} # without the mount point
  bt_last_word # the percentage
  bt_last_word # the free ones
  bt_kv "$1" "$BT_WORD"
}

bt_mpi_directory() { # DIR: inodes, space, and what is in it already
  [ -d "$1" ] || return 0
  bt_mpi_free free_inodes -Pi "$1"
  bt_mpi_free free_kib -Pk "$1"
  # shellcheck disable=SC2012  # names of ours
  bt_kv old "$(cd "$1" && ls -d benchtui-* test-dir.* '#test-dir.'* 2>/dev/null | sed 5q | tr '\n' ' ')"
}

bt_mpi_mark() { # DIR NAME: a file for the other hosts to see
  (umask 022; set -C; : >"$1/$2") 2>/dev/null || bt_die "cannot write to $1"
}

bt_mpi_see() { # DIR NAME: is it there? Own write test too: a directory, a file in it, and gone
  local dir="$1/$2.$BT_TOKEN" said=''
  ls "$1" >/dev/null 2>&1 # network file systems keep what was not there: ask anew
  bt_flag seen [ -e "$1/$2" ]
  said=$( { mkdir -- "$dir" && : >"$dir/f" && rm -- "$dir/f" && rmdir -- "$dir"; } 2>&1) ||
    bt_kv cannot_write "${said:-unknown error}"
}

bt_mpi_unmark() { rm -f -- "$1/$2"; } # DIR NAME

bt_mpi_write() { # DIR NAME TEXT: a file that rank 0 reads, which runs as this user
  (set -C; printf '%s' "$3" >"$1/$2") 2>/dev/null || bt_die "cannot write to $1"
}

bt_mpi_ranks() { # RUN HOST: how many ranks there are, and which of them hang in the kernel
  local each='' pid='' state='' count=0 stuck=''
  for each in $(bt_marked "BENCHTUI_RUN=$1" "BENCHTUI_HOST=$2"); do
    pid=${each%:*}
    bt_environ "$pid" | grep -qE '^(PMI_RANK|OMPI_COMM_WORLD_RANK)=' || continue
    count=$((count + 1))
    state=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null)
    case $state in D*) stuck="$stuck$pid " ;; esac
  done
  bt_kv ranks "$count"
  bt_kv stuck "$stuck"
}

bt_mpi_scratch() { # RUN HOST: creates our directory for shared memory, if there is a place for it; prints it
  BT_D=/dev/shm/benchtui-$1
  [ -d /dev/shm ] && [ -w /dev/shm ] && [ ! -L "$BT_D" ] && (umask 077; mkdir -p -- "$BT_D/$2") 2>/dev/null || return 0
  [ -O "$BT_D" ] && [ ! -L "$BT_D" ] && bt_kv scratch "$BT_D"
}
