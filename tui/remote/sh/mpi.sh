# More functions, sent behind the agent for MPI programs: what a host has, and what is left on it.

bt_mpi_version() { # KEY NAME: path and first words of a launcher, when it is there
  BT_V=$(command -v "$2" 2>/dev/null) || return 0
  bt_kv "$1" "$BT_V|$("$BT_V" --version 2>&1 </dev/null | sed 6q | tr -s ' \n' '  ')"
}

bt_mpi_proxy() { # KEY NAME BESIDE...: the path of a proxy: on PATH, or beside one of these programs
  BT_K=$1 BT_W=$2
  shift 2
  BT_V=$(command -v "$BT_W" 2>/dev/null)
  for BT_P; do
    [ -z "$BT_V" ] || break
    BT_P=$(command -v "$BT_P" 2>/dev/null) && BT_P=$(readlink -f -- "$BT_P") || continue
    [ -x "${BT_P%/*}/$BT_W" ] && BT_V=${BT_P%/*}/$BT_W
  done
  bt_kv "$BT_K" "$BT_V"
}

bt_mpi_probe() { # DIR PROGRAM: what MPI needs to be known of this host, and of the directory
  bt_kv hostname "$(uname -n)"
  bt_kv user "$(id -un 2>/dev/null || id -u)"
  bt_boot_id; bt_kv boot_id "$BT_GOT"
  bt_kv uid "$(id -u)"
  bt_kv cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null)"
  bt_kv open_files "$(ulimit -n 2>/dev/null)"
  bt_kv processes "$(ulimit -u 2>/dev/null)"
  set -f; set -- "$1" "$2" ${SSH_CONNECTION-}; set +f
  bt_kv ssh_address "${5-}"
  bt_kv addresses "$( (ip -o addr show 2>/dev/null || hostname -I 2>/dev/null | tr ' ' '\n' | sed 's/^/- - inet /') |
    while read -r BT_X BT_Y BT_Z BT_A BT_B; do case $BT_Z in inet | inet6) printf '%s ' "$BT_A" ;; esac; done)"
  for BT_K in mpiexec.hydra mpiexec.mpich mpiexec mpirun.openmpi mpirun; do bt_mpi_version "launcher.$BT_K" "$BT_K"; done
  bt_mpi_proxy hydra_pmi_proxy hydra_pmi_proxy mpiexec.hydra mpiexec
  bt_mpi_proxy orted orted mpirun.openmpi mpirun
  bt_mpi_program "$2"
  bt_mpi_directory "$1"
}

bt_mpi_program() { # PROGRAM: where it is, what it is, which MPI it was linked with
  BT_V=$(command -v -- "$1" 2>/dev/null) || { [ -e "$1" ] && bt_kv not_executable "$1"; return 0; }
  case $BT_V in /*) ;; *) return 0 ;; esac
  bt_kv program "$BT_V"
  bt_kv sum "$(cksum <"$BT_V" 2>/dev/null)"
  bt_kv library "$(ldd "$BT_V" 2>/dev/null | grep -E 'libmpi(ch)?\.|libmpi_|libmpich' | sed 1q | tr -s '\t ' '  ')"
  bt_kv missing "$(ldd "$BT_V" 2>/dev/null | grep 'not found' | sed 3q | tr -s '\t\n ' '   ')"
  bt_kv script "$(dd if="$BT_V" bs=2 count=1 2>/dev/null | grep -c '^#!')"
  bt_kv running "$(cat /proc/[0-9]*/comm 2>/dev/null | grep -cxF -- "${BT_V##*/}")"
}

bt_mpi_directory() { # DIR: inodes, and what is in it already
  [ -d "$1" ] || return 0
  BT_S=$(df -Pi -- "$1" 2>/dev/null | tail -n 1)
  BT_S=${BT_S%%% *}; BT_S=${BT_S%[0-9-]}; BT_S=${BT_S% *}; bt_trim
  bt_kv free_inodes "${BT_S##* }"
  bt_kv old "$(cd "$1" && ls -d benchtui-* test-dir.* '#test-dir.'* 2>/dev/null | sed 5q | tr '\n' ' ')"
}

bt_mpi_mark() { # DIR NAME: a file for the other hosts to see
  (umask 022; set -C; : >"$1/$2") 2>/dev/null || bt_die "cannot write in $1"
}

bt_mpi_see() { # DIR NAME: is it there? Own write test too: a directory, a file in it, and gone
  ls "$1" >/dev/null 2>&1 # network file systems keep what was not there: ask anew
  bt_kv seen "$([ -e "$1/$2" ] && bt_say 1)"
  BT_D=$1/$2.$BT_TOKEN
  BT_S=$( { mkdir -- "$BT_D" && : >"$BT_D/f" && rm -- "$BT_D/f" && rmdir -- "$BT_D"; } 2>&1) || bt_kv cannot_write "${BT_S:-it failed}"
}

bt_mpi_unmark() { rm -f -- "$1/$2"; } # DIR NAME

bt_mpi_ranks() { # RUN HOST: how many ranks there are, and which of them hang in the kernel
  BT_N=0 BT_LEFT=
  for BT_P in $(bt_marked "BENCHTUI_RUN=$1" "BENCHTUI_HOST=$2" | cut -d' ' -f1); do
    tr '\0' '\n' 2>/dev/null <"/proc/$BT_P/environ" | grep -qE '^(PMI_RANK|OMPI_COMM_WORLD_RANK)=' || continue
    BT_N=$((BT_N + 1))
    BT_S=$(sed 's/.*) //' "/proc/$BT_P/stat" 2>/dev/null)
    case $BT_S in D*) BT_LEFT="$BT_LEFT$BT_P " ;; esac
  done
  bt_kv ranks "$BT_N"
  bt_kv stuck "$BT_LEFT"
}

bt_mpi_is_ours() { # DIR: its last name decides, not one somewhere above it
  case $1 in /*) case ${1##*/} in benchtui-?*) return 0 ;; esac ;; esac
  bt_die "not a directory of ours: $1"
}

bt_mpi_remove() { # DIR INDEX COUNT: this host's share of a tree of ours: every COUNT-th of its largest parts
  bt_mpi_is_ours "$1"
  [ -d "$1" ] && [ ! -L "$1" ] || return 0
  BT_I=0
  for BT_D in "$1"/*/*/mdtest_tree.* "$1"/*/*/; do
    [ -e "$BT_D" ] || continue
    case $BT_D in */mdtest_tree.*) [ $((BT_I % $3)) = "$2" ] && rm -rf -- "$BT_D" ;; esac
    BT_I=$((BT_I + 1))
  done
}

bt_mpi_remove_rest() { # DIR: what is left of a tree of ours
  bt_mpi_is_ours "$1"
  [ -L "$1" ] || rm -rf -- "$1"
  [ ! -e "$1" ] || bt_die "$1 could not be removed"
}

bt_mpi_empty() { # DIR: takes away what is empty of a tree of ours; tells what is left
  [ -d "$1" ] || return 0
  rmdir -- "$1"/* "$1" 2>/dev/null
  bt_kv left "$([ -e "$1" ] && bt_say 1)"
}
