# benchtui: what devices are and hold, and how much room directories have. Sent behind the agent, by whose rules it is
# written: POSIX sh, arithmetic below 2^31. It only reads.

# ---- devices ---------------------------------------------------------------------------------------------------

bt_devices() { # PATH...: facts as dev.I.NAME=VALUE; lines of use, part, sig, unread begin with I and a name
  BT_I=0 BT_SCAN=
  for BT_D; do
    bt_device "$BT_D"
    BT_I=$((BT_I + 1))
  done
}

bt_fact() { [ -z "$2" ] || bt_kv "dev.$BT_I.$1" "$2"; } # NAME VALUE

bt_device() { # PATH
  BT_NODE=$1
  if [ -b "$1" ]; then bt_fact kind block
  elif [ -c "$1" ]; then bt_fact kind char
  elif [ -e "$1" ]; then bt_fact kind other; return
  else return
  fi
  BT_REAL=$(readlink -f -- "$1" 2>/dev/null || bt_say "$1")
  bt_fact real "$BT_REAL"
  bt_sysfs "$1"
  [ -n "$BT_SYS" ] || return 0
  bt_fact name "$BT_K"
  bt_fact number "$BT_MM"
  [ ! -r "$BT_NODE" ] || bt_fact readable 1
  [ ! -w "$1" ] || bt_fact writable 1
  bt_get "$BT_SYS/size" && bt_fact sectors "$BT_GOT"
  bt_get "$BT_SYS/ro" && [ "$BT_GOT" = 1 ] && bt_fact read_only 1
  bt_identity
  bt_family
}

bt_sysfs() { # PATH: sets BT_SYS (directory below /sys, empty when unknown), BT_K (kernel name), BT_MM (major:minor)
  BT_SYS='' BT_MM=''
  if [ -c "$1" ]; then
    bt_behind "$1" || return 0 # a character device: the block device that it leads to
    BT_NODE=/dev/$BT_K
  else
    BT_K=${BT_REAL##*/}
    BT_S=$(stat -L -c '%t %T' -- "$1" 2>/dev/null)
    [ -z "$BT_S" ] || BT_MM=$((0x${BT_S% *})):$((0x${BT_S#* }))
  fi
  if [ -n "$BT_MM" ] && [ -e "/sys/dev/block/$BT_MM" ]; then
    BT_SYS=$(readlink -f "/sys/dev/block/$BT_MM")
    BT_K=${BT_SYS##*/}
  elif [ -e "/sys/class/block/$BT_K" ]; then
    BT_SYS=$(readlink -f "/sys/class/block/$BT_K")
  fi
  [ -z "$BT_SYS" ] || ! bt_get "$BT_SYS/dev" || BT_MM=$BT_GOT
}

bt_behind() { # PATH: sets BT_K to the block device of an NVMe or SCSI generic character device
  BT_K=${BT_REAL##*/}
  case $BT_K in
    ng[0-9]*n[0-9]*) BT_K=nvme${BT_K#ng} ;;
    sg[0-9]*) for BT_F in "/sys/class/scsi_generic/$BT_K/device/block/"*; do BT_K=${BT_F##*/}; done ;;
    *) return 1 ;;
  esac
  [ -e "/sys/class/block/$BT_K" ]
}

bt_first_line() { # FILE...: prints the first of them that says something
  for BT_F; do
    bt_get "$BT_F" && [ -n "$BT_GOT" ] && { bt_say "$BT_GOT"; return 0; }
  done
  return 0
}

bt_identity() { # model, serial and stable names; those of the whole disk for a partition
  BT_DISK=$BT_SYS
  if [ -e "$BT_SYS/partition" ]; then BT_DISK=${BT_SYS%/*}; bt_fact disk "${BT_DISK##*/}"; fi
  bt_get "$BT_DISK/dev"
  BT_U=/run/udev/data/b$BT_GOT
  BT_S=$(bt_first_line "$BT_DISK/device/model" "$BT_DISK/dm/name" "$BT_DISK/loop/backing_file")
  bt_fact model "${BT_S:-$(sed -n 's/^E:ID_MODEL=//p' "$BT_U" 2>/dev/null)}"
  BT_S=$(bt_first_line "$BT_DISK/device/serial" "$BT_DISK/serial")
  [ -n "$BT_S" ] || BT_S=$(sed -n 's/^E:ID_SERIAL_SHORT=//p' "$BT_U" 2>/dev/null)
  bt_fact serial "${BT_S:-$(bt_first_line "$BT_DISK/device/wwid" "$BT_DISK/wwid" "$BT_DISK/dm/uuid")}"
  # shellcheck disable=SC2012  # udev makes these names
  BT_S=$(ls -l /dev/disk/by-id 2>/dev/null | sed -n "s|^.* \([^ ]*\) -> .*/$BT_K\$|\1|p" | sed 3q)
  bt_fact by_id "$BT_S"
}

bt_family() { # what is written along with it: its partitions; and the disk that a partition lies on
  BT_NUMBERS=$BT_MM
  bt_member "$BT_SYS"
  bt_content "$BT_SYS" "$BT_NODE"
  for BT_P in "$BT_SYS"/*/partition; do
    [ -e "$BT_P" ] || continue
    bt_member "${BT_P%/partition}"
    bt_content "${BT_P%/partition}" "/dev/$BT_MK"
    bt_say "part=$BT_I $BT_MK"
  done
  [ "$BT_DISK" = "$BT_SYS" ] || bt_member "$BT_DISK"
  [ -n "$BT_USED" ] || bt_elsewhere
}

bt_use() { BT_USED=1; bt_say "use=$BT_I $BT_MK $*"; } # KIND DETAIL

bt_member() { # SYSFS DIRECTORY: who uses this disk or partition; sets BT_MK and BT_USED
  [ "$1" != "$BT_SYS" ] || BT_USED=
  BT_MS=$1 BT_MK=${1##*/}
  bt_get "$1/dev"
  BT_MD=$BT_GOT
  case " $BT_NUMBERS " in *" $BT_MD "*) ;; *) BT_NUMBERS="$BT_NUMBERS $BT_MD" ;; esac
  bt_mounts
  while read -r BT_S BT_X; do
    case $BT_S in
      /dev/*) [ "$(readlink -f -- "$BT_S")" != "/dev/$BT_MK" ] || bt_use swap ;;
    esac
  done 2>/dev/null </proc/swaps
  for BT_F in "$BT_MS/holders/"*; do
    [ -e "$BT_F" ] || continue
    bt_use holder "${BT_F##*/} $(bt_first_line "$BT_F/dm/uuid") $(bt_first_line "$BT_F/dm/name")"
  done
  bt_ceph
}

bt_mounts() { # by number; file systems with numbers of their own (btrfs) by the name of their source
  while read -r _ _ BT_V _ BT_M BT_Y; do
    case $BT_V in
      "$BT_MD") bt_use mount "$BT_M" ;;
      0:*)
        BT_Y=${BT_Y##* - }; BT_Y=${BT_Y#* }; BT_Y=${BT_Y%% *}
        case $BT_Y in /dev/*) [ "$(readlink -f -- "$BT_Y")" != "/dev/$BT_MK" ] || bt_use mount "$BT_M" ;; esac
        ;;
    esac
  done 2>/dev/null </proc/self/mountinfo
}

bt_ceph() { # an OSD that is down holds its device all the same
  for BT_F in /var/lib/ceph/osd/*/block* /var/lib/ceph/*/osd.*/block*; do
    [ -b "$BT_F" ] || continue
    BT_S=$(stat -L -c '%t %T' -- "$BT_F" 2>/dev/null) || continue
    [ "$((0x${BT_S% *})):$((0x${BT_S#* }))" != "$BT_MD" ] || bt_use ceph "$BT_F"
  done
}

bt_elsewhere() { # mounted in a container, or claimed by whatever the kernel knows and we do not
  BT_MK=$BT_K
  for BT_S in $BT_NUMBERS; do
    BT_F=$(grep -lsF -- " $BT_S /" /proc/[0-9]*/mountinfo 2>/dev/null | sed 1q)
    [ -z "$BT_F" ] || { BT_F=${BT_F#/proc/}; bt_use mount "in the mount namespace of process ${BT_F%%/*}"; return; }
  done
  for BT_F in /sys/block/loop*/loop/backing_file; do # the kernel lets others open what lies below a loop device
    bt_get "$BT_F" && [ -b "$BT_GOT" ] && bt_among "$BT_GOT" || continue
    BT_F=${BT_F#/sys/block/}
    bt_use loop "${BT_F%%/*}"
    return
  done
  BT_N=0 BT_BLIND=
  while bt_open || bt_claimed; do # udev, or another check of ours, may have it open just now
    [ "$BT_N" -lt 8 ] || { if [ -n "$BT_PID" ]; then bt_use open "$BT_PID $BT_GOT"; else bt_use claimed; fi; return; }
    BT_N=$((BT_N + 1))
    bt_nap 0.15
  done
  for BT_S in $BT_BLIND; do bt_say "unsure=$BT_I $BT_S"; done
}

bt_among() { # PATH: is it one of the devices in BT_NUMBERS?
  BT_S=$(stat -L -c '%t %T' -- "$1" 2>/dev/null) || return 1
  [ -n "$BT_S" ] || return 1
  case " $BT_NUMBERS " in *" $((0x${BT_S% *})):$((0x${BT_S#* })) "*) true ;; *) false ;; esac
}

bt_open() { # does a process have it open? Sets BT_PID and BT_GOT, its command
  BT_PID=
  [ "$(id -u)" = 0 ] || bt_blind open
  [ -n "$BT_SCAN" ] && [ "$BT_N" = 0 ] || bt_scan
  [ "$BT_SCAN" != none ] || { bt_blind scan; return 1; }
  for BT_S in $BT_NUMBERS; do
    BT_X=$(printf '%x:%x' "${BT_S%:*}" "${BT_S#*:}")
    BT_PID=$(bt_say "$BT_SCAN" | sed -n "s|^$BT_X /proc/\([0-9]*\)/fd/.*|\1|p" | sed "/^$$\$/d" | sed 1q)
    [ -z "$BT_PID" ] || { bt_get "/proc/$BT_PID/comm"; return 0; }
  done
  return 1
}

bt_scan() { # sets BT_SCAN to all block devices that are open, as NUMBER LINK; the node itself proves that it was done
  [ "$BT_SCAN" != none ] || return
  set -- find -L /proc/[0-9]*/fd "$BT_NODE" -maxdepth 1 -type b -exec stat -L -c '%t:%T %n' {} +
  ! command -v timeout >/dev/null 2>&1 || set -- timeout -s KILL 5 "$@" # a file on a dead server keeps us waiting
  BT_SCAN=$("$@" 2>/dev/null)
  bt_say "$BT_SCAN" | grep -qF " $BT_NODE" || BT_SCAN=none
}

bt_blind() { case " $BT_BLIND " in *" $1 "*) ;; *) BT_BLIND="$BT_BLIND $1" ;; esac; } # a check could not be made

bt_claimed() { # does the kernel refuse to open it exclusively? Exit codes of those who try: 5 no, 7 yes, else no answer
  [ -r "$BT_NODE" ] || return 1
  perl -e 'use Fcntl; use Errno; exit(sysopen(F, $ARGV[0], O_RDONLY|O_EXCL|O_NONBLOCK) ? 5 : $!{EBUSY} ? 7 : 6)' \
    -- "$BT_NODE" 2>/dev/null
  case $? in 5) return 1 ;; 7) return 0 ;; esac
  for BT_X in python3 /usr/libexec/platform-python; do
    "$BT_X" -c '
import errno, os, sys
try: os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL | os.O_NONBLOCK)
except OSError as error: sys.exit(7 if error.errno == errno.EBUSY else 6)
sys.exit(5)' "$BT_NODE" 2>/dev/null
    case $? in 5) return 1 ;; 7) return 0 ;; esac
  done
  bt_blind claimed
  return 1
}

bt_has() { # TOOL: is it there, and is it that of util-linux?
  [ -z "${BENCHTUI_NO_UTIL_LINUX-}" ] && case $("$1" -V 2>&1) in *util-linux*) true ;; *) false ;; esac
}

bt_content() { # SYSFS DIRECTORY, PATH: what is on it, by wipefs, else by blkid; `unread` when neither can say
  if [ ! -r "$2" ]; then
    bt_unread "$1" "$2"
  elif bt_has wipefs && BT_OUT=$(wipefs -n -p -- "$2" 2>/dev/null); then
    bt_say "$BT_OUT" | while read -r BT_S; do # offset,uuid,label,type
      case $BT_S in 0x*) bt_say "sig=$BT_I $BT_MK ${BT_S##*,} ${BT_S%%,*}" ;; esac
    done
  else
    bt_blkid "$2" || bt_unread "$1" "$2"
  fi
}

bt_unread() { # SYSFS DIRECTORY, PATH
  bt_get "$1/size"
  bt_say "unread=$BT_I $BT_MK ${BT_GOT:-0} $2"
}

bt_blkid() { # PATH
  bt_has blkid || return 1
  dd if="$1" of=/dev/null bs=512 count=1 2>/dev/null || return 1
  BT_OUT=$(blkid -p -o export -- "$1" 2>/dev/null)
  case $? in
    0) ;;
    2) return 0 ;; # nothing found
    8) bt_say "sig=$BT_I $BT_MK several -"; return 0 ;;
    *) return 1 ;;
  esac
  bt_say "$BT_OUT" | while IFS='=' read -r BT_S BT_V; do
    case $BT_S in TYPE | PTTYPE) bt_say "sig=$BT_I $BT_MK $BT_V -" ;; esac
  done
}

bt_peek() { # PATH [SECTOR COUNT]...: the contents of a few sectors of 512 bytes, in hexadecimal
  BT_D=$1; shift
  while [ $# -gt 1 ]; do
    BT_S=$(dd if="$BT_D" bs=512 skip="$1" count="$2" 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
    bt_say "peek=$1 $BT_S"
    shift 2
  done
}

# ---- room ------------------------------------------------------------------------------------------------------

bt_room() { # DIR...: file system and room of each, or of the nearest directory above it that is there
  local dir='' index=0
  for dir; do
    while [ ! -d "$dir" ] && [ -n "$dir" ]; do dir=${dir%/*}; done
    bt_probe_space "${dir:-/}" "dir.$index"
    index=$((index + 1))
  done
}
