# Files and directories of a benchmark, and the page cache.

bt_files() { # PATH...: a map of 1 (is there) and 0, then size, blocks, block size and mode of those that are
  local map='' file='' out='' lines=0
  for file; do
    shift
    if [ -e "$file" ]; then map=${map}1; set -- "$@" "$file"; else map=${map}0; fi
  done
  bt_say "map=$map"
  [ $# -gt 0 ] || return 0
  out=$(stat -L -c '%s %b %B %f' -- "$@" 2>/dev/null)
  while read -r file; do lines=$((lines + 1)); done <<BT_EOF
$out
BT_EOF
  if [ "$lines" = $# ] && [ -n "$out" ]; then bt_say "$out"; else for file; do bt_file "$file"; done; fi
}

bt_file() { # PATH: one line, also where stat has no -c, or when the file has just gone
  local used=''
  stat -L -c '%s %b %B %f' -- "$1" 2>/dev/null && return
  bt_size "$1" || { bt_say "- - -"; return; }
  used=$(du -k -- "$1" 2>/dev/null)
  used=${used%%[!0-9]*}
  bt_say "$BT_SIZE ${used:-0} 1024"
}

bt_mkdirs() { # OFFSET DIR...: parents first; reports the numbers of those that were created
  local index="$1" dir='' said=''
  shift
  umask "$BT_GIVEN_UMASK"
  for dir; do
    if [ ! -d "$dir" ]; then
      said=$(mkdir -- "$dir" 2>&1) && bt_say "created=$index" || bt_die "$said"
    fi
    index=$((index + 1))
  done
}

bt_is_plain() { [ -f "$1" ] && [ ! -L "$1" ]; }
bt_is_empty() { bt_is_plain "$1" && [ ! -s "$1" ]; }

bt_numbered() { # PREFIX SUFFIX COUNT SIZE: how many of these numbers there are; the first, and the first that is no plain
# file, or holds something where they have no size
  local file='' left=0 first='' full=''
  for file in "$1"[0-9]*"$2"; do
    bt_is_numbered "$file" "$1" "$2" "$3" || continue
    [ -e "$file" ] || [ -L "$file" ] || continue
    left=$((left + 1)) first=${first:-$file}
    [ -n "$full" ] || bt_is_empty "$file" || { [ "$4" != 0 ] && bt_is_plain "$file"; } || full=$file
  done
  bt_kv left "$left"
  bt_kv first "$first"
  bt_kv full "$full"
}

bt_is_numbered() { # FILE PREFIX SUFFIX COUNT: does a number as fio writes it, and below COUNT, stand between both?
  local number="${1#"$2"}"
  number=${number%"$3"}
  case $number in '' | *[!0-9]* | 0?*) return 1 ;; esac
  [ ${#number} -le ${#4} ] && [ "$number" -lt "$4" ] # a longer number may not fit the shell's arithmetic
}

bt_drop_caches() {
  local method=none said='not root, and sudo is not installed' code=1
  sync
  if [ "$BT_UID" = 0 ]; then
    method=root
    said=$( (echo 3 >/proc/sys/vm/drop_caches) 2>&1)
    code=$?
  elif command -v sudo >/dev/null 2>&1; then
    method=sudo
    said=$(sudo -n sh -c 'echo 3 >/proc/sys/vm/drop_caches' 2>&1 </dev/null)
    code=$?
  fi
  bt_kv method "$method"
  bt_flag ok [ "$code" = 0 ]
  bt_kv detail "$said"
}

bt_forget() { # FILE...: drop the cached pages of these files; any user may, for readable files
  local file='' said='' count=0
  sync
  for file; do
    [ -f "$file" ] || continue
    said=$(dd if="$file" of=/dev/null iflag=nocache count=0 2>&1) || { bt_kv failed "$said"; return; }
    count=$((count + 1))
  done
  bt_kv forgotten "$count"
}
