# benchtui: facts and content of devices, free space of directories. Sent after the agent, whose rules apply: POSIX sh,
# arithmetic below 2^31. It only reads.

# ---- devices ---------------------------------------------------------------------------------------------------

# What the functions below share about the current device: BT_I its index in the request, BT_NODE its
# path, BT_REAL without links, BT_SYS, BT_K, BT_MM (see bt_sysfs), BT_DISK its disk below /sys,
# BT_NUMBERS all numbers that are written along with it, BT_USED whether it is in use, BT_BLIND the checks that could
# not be made. BT_SCAN is what bt_scan found, for all devices.

bt_devices() { # PATH...: facts as dev.I.NAME=VALUE; lines of use, part, sig, unread begin with I and a name
  local path=''
  BT_I=0 BT_SCAN=
  for path; do
    bt_device "$path"
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
  bt_logical_block "$BT_SYS" && bt_fact logical_block "$BT_GOT"
  bt_get "$BT_SYS/ro" && [ "$BT_GOT" = 1 ] && bt_fact read_only 1
  bt_identity
  bt_family
}

bt_number() { # PATH: prints MAJOR:MINOR of a device; fails when it is none
  local hex=''
  hex=$(stat -L -c '%t %T' -- "$1" 2>/dev/null) || return 1
  [ -n "$hex" ] && bt_say "$((0x${hex% *})):$((0x${hex#* }))"
}

bt_sysfs() { # PATH: sets BT_SYS (directory below /sys, empty when unknown), BT_K (kernel name), BT_MM (major:minor)
  BT_SYS='' BT_MM=''
  if [ -c "$1" ]; then
    bt_behind "$1" || return 0 # a character device: the block device that it leads to
    BT_NODE=/dev/$BT_K
  else
    BT_K=${BT_REAL##*/}
    BT_MM=$(bt_number "$1")
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
  local disk=''
  BT_K=${BT_REAL##*/}
  case $BT_K in
    ng[0-9]*n[0-9]*) BT_K=nvme${BT_K#ng} ;;
    sg[0-9]*) for disk in "/sys/class/scsi_generic/$BT_K/device/block/"*; do BT_K=${disk##*/}; done ;;
    *) return 1 ;;
  esac
  [ -e "/sys/class/block/$BT_K" ]
}

bt_first_line() { # FILE...: prints the first line of the first file that has one
  local file=''
  for file; do
    bt_get "$file" && [ -n "$BT_GOT" ] && { bt_say "$BT_GOT"; return 0; }
  done
  return 0
}

bt_identity() { # model, serial and stable names; those of the whole disk for a partition
  local udev='' found=''
  BT_DISK=$BT_SYS
  if [ -e "$BT_SYS/partition" ]; then BT_DISK=${BT_SYS%/*}; bt_fact disk "${BT_DISK##*/}"; fi
  bt_get "$BT_DISK/dev"
  udev=/run/udev/data/b$BT_GOT
  found=$(bt_first_line "$BT_DISK/device/model" "$BT_DISK/dm/name" "$BT_DISK/loop/backing_file")
  bt_fact model "${found:-$(sed -n 's/^E:ID_MODEL=//p' "$udev" 2>/dev/null)}"
  found=$(bt_first_line "$BT_DISK/device/serial" "$BT_DISK/serial")
  [ -n "$found" ] || found=$(sed -n 's/^E:ID_SERIAL_SHORT=//p' "$udev" 2>/dev/null)
  bt_fact serial "${found:-$(bt_first_line "$BT_DISK/device/wwid" "$BT_DISK/wwid" "$BT_DISK/dm/uuid")}"
  # shellcheck disable=SC2012  # udev creates these names
  found=$(ls -l /dev/disk/by-id 2>/dev/null | sed -n "s|^.* \([^ ]*\) -> .*/$BT_K\$|\1|p" | sed 3q)
  bt_fact by_id "$found"
}

bt_family() { # devices written along with it: its partitions, and the disk of a partition
  local part=''
  BT_NUMBERS=$BT_MM BT_USED=''
  bt_member "$BT_SYS"
  bt_content "$BT_SYS" "$BT_NODE"
  for part in "$BT_SYS"/*/partition; do
    [ -e "$part" ] || continue
    part=${part%/partition}
    bt_member "$part"
    bt_content "$part" "/dev/${part##*/}"
    bt_say "part=$BT_I ${part##*/}"
  done
  [ "$BT_DISK" = "$BT_SYS" ] || bt_member "$BT_DISK"
  [ -n "$BT_USED" ] || bt_elsewhere
}

bt_use() { BT_USED=1; bt_say "use=$BT_I $*"; } # NAME KIND DETAIL

bt_member() { # SYSFS DIRECTORY: users of this disk or partition; sets BT_USED if there are any
  local name="${1##*/}" number='' path='' holder=''
  bt_get "$1/dev"
  number=$BT_GOT
  case " $BT_NUMBERS " in *" $number "*) ;; *) BT_NUMBERS="$BT_NUMBERS $number" ;; esac
  bt_mounts "$name" "$number"
  while read -r path _; do
    case $path in
      /dev/*) [ "$(readlink -f -- "$path")" != "/dev/$name" ] || bt_use "$name" swap ;;
    esac
  done 2>/dev/null </proc/swaps
  for holder in "$1/holders/"*; do
    [ -e "$holder" ] || continue
    bt_use "$name" holder "${holder##*/} $(bt_first_line "$holder/dm/uuid") $(bt_first_line "$holder/dm/name")"
  done
  bt_ceph "$name" "$number"
}

bt_mounts() { # NAME NUMBER: by number; file systems with numbers of their own (btrfs) by the name of their source
  local number='' place='' source=''
  while read -r _ _ number _ place source; do
    case $number in
      "$2") bt_use "$1" mount "$place" ;;
      0:*)
        source=${source##* - }; source=${source#* }; source=${source%% *}
        case $source in /dev/*) [ "$(readlink -f -- "$source")" != "/dev/$1" ] || bt_use "$1" mount "$place" ;; esac
        ;;
    esac
  done 2>/dev/null </proc/self/mountinfo
}

bt_ceph() { # NAME NUMBER: a stopped OSD still owns its device
  local store=''
  for store in /var/lib/ceph/osd/*/block* /var/lib/ceph/*/osd.*/block*; do
    [ -b "$store" ] || continue
    [ "$(bt_number "$store" || bt_say unknown)" != "$2" ] || bt_use "$1" ceph "$store"
  done
}

bt_elsewhere() { # mounted in a container, or claimed in a way that only the kernel knows
  local number='' file='' tries=0 check=''
  for number in $BT_NUMBERS; do
    file=$(grep -lsF -- " $number /" /proc/[0-9]*/mountinfo 2>/dev/null | sed 1q)
    file=${file#/proc/}
    [ -z "$file" ] || { bt_use "$BT_K" mount "in the mount namespace of process ${file%%/*}"; return; }
  done
  for file in /sys/block/loop*/loop/backing_file; do # the kernel lets others open what lies below a loop device
    bt_get "$file" && [ -b "$BT_GOT" ] && bt_among "$BT_GOT" || continue
    file=${file#/sys/block/}
    bt_use "$BT_K" loop "${file%%/*}"
    return
  done
  BT_BLIND=
  while bt_open "$tries" || bt_claimed; do # udev, or another check, may have it open just now
    if [ "$tries" -ge 8 ]; then
      if [ -n "$BT_PID" ]; then bt_use "$BT_K" open "$BT_PID $BT_GOT"; else bt_use "$BT_K" claimed; fi
      return
    fi
    tries=$((tries + 1))
    bt_nap 0.15
  done
  for check in $BT_BLIND; do bt_say "unsure=$BT_I $check"; done
}

bt_among() { # PATH: is it in BT_NUMBERS?
  local number=''
  number=$(bt_number "$1") || return 1
  case " $BT_NUMBERS " in *" $number "*) true ;; *) false ;; esac
}

bt_open() { # TRIES: does a process have it open? Sets BT_PID and BT_GOT, its command; scans anew when it is tried again
  local number='' hex=''
  BT_PID=
  [ "$BT_UID" = 0 ] || bt_blind open
  [ -n "$BT_SCAN" ] && [ "$1" = 0 ] || bt_scan
  [ "$BT_SCAN" != none ] || { bt_blind scan; return 1; }
  for number in $BT_NUMBERS; do
    hex=$(printf '%x:%x' "${number%:*}" "${number#*:}")
    BT_PID=$(bt_say "$BT_SCAN" | sed -n "s|^$hex /proc/\([0-9]*\)/fd/.*|\1|p" | sed "/^$$\$/d" | sed 1q)
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

bt_claimed() { # does the kernel refuse exclusive opening? Exit codes of the attempts: 5 no, 7 yes, else no answer
  local python=''
  [ -r "$BT_NODE" ] || return 1
  perl -e 'use Fcntl; use Errno; exit(sysopen(F, $ARGV[0], O_RDONLY|O_EXCL|O_NONBLOCK) ? 5 : $!{EBUSY} ? 7 : 6)' \
    -- "$BT_NODE" 2>/dev/null
  case $? in 5) return 1 ;; 7) return 0 ;; esac
  for python in python3 /usr/libexec/platform-python; do
    "$python" -c '
import errno, os, sys
try: os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL | os.O_NONBLOCK)
except OSError as error: sys.exit(7 if error.errno == errno.EBUSY else 6)
sys.exit(5)' "$BT_NODE" 2>/dev/null
    case $? in 5) return 1 ;; 7) return 0 ;; esac
  done
  bt_blind claimed
  return 1
}

bt_has() { # TOOL: is it installed, and from util-linux?
  [ -z "${BENCHTUI_NO_UTIL_LINUX-}" ] && case $("$1" -V 2>&1) in *util-linux*) true ;; *) false ;; esac
}

bt_content() { # SYSFS DIRECTORY, PATH: what is on it, by wipefs, else by blkid; `unread` when neither can say
  local found='' line=''
  if [ ! -r "$2" ]; then
    bt_unread "$1" "$2"
  elif bt_has wipefs && found=$(wipefs -n -p -- "$2" 2>/dev/null); then
    bt_say "$found" | while read -r line; do # offset,uuid,label,type
      case $line in 0x*) bt_say "sig=$BT_I ${1##*/} ${line##*,} ${line%%,*}" ;; esac
    done
  else
    bt_blkid "${1##*/}" "$2" || bt_unread "$1" "$2"
  fi
}

bt_unread() { # SYSFS DIRECTORY, PATH
  bt_get "$1/size"
  bt_say "unread=$BT_I ${1##*/} ${BT_GOT:-0} $2"
}

bt_blkid() { # NAME PATH
  local found='' key='' value=''
  bt_has blkid || return 1
  dd if="$2" of=/dev/null bs=512 count=1 2>/dev/null || return 1
  found=$(blkid -p -o export -- "$2" 2>/dev/null)
  case $? in
    0) ;;
    2) return 0 ;; # nothing found
    8) bt_say "sig=$BT_I $1 several -"; return 0 ;;
    *) return 1 ;;
  esac
  bt_say "$found" | while IFS='=' read -r key value; do
    case $key in TYPE | PTTYPE) bt_say "sig=$BT_I $1 $value -" ;; esac
  done
}

bt_peek() { # PATH [SECTOR COUNT]...: the contents of a few sectors of 512 bytes, in hexadecimal
  local path="$1"
  shift
  while [ $# -gt 1 ]; do
    bt_say "peek=$1 $(dd if="$path" bs=512 skip="$1" count="$2" 2>/dev/null | od -An -v -tx1 | tr -d ' \n')"
    shift 2
  done
}

# ---- free space ------------------------------------------------------------------------------------------------

bt_room() { # DIR...: file system and free space of each, or of its nearest existing parent
  local dir='' index=0
  for dir; do
    while [ ! -d "$dir" ] && [ -n "$dir" ]; do dir=${dir%/*}; done
    bt_probe_space "${dir:-/}" "dir.$index"
    index=$((index + 1))
  done
}
