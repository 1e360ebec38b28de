# Which blocks of files were ever written: filefrag (e2fsprogs), if installed, uses FIEMAP.

bt_extents() { # FILE...: of each, `at=INDEX SIZE MAPPED UNWRITTEN`, bytes; or why= if unknown
  local file='' index=0 said='' held=''
  if ! command -v filefrag >/dev/null 2>&1; then bt_kv why no-filefrag; return; fi
  for file; do
    # filefrag -s first writes dirty pages, whose blocks would count as unwritten
    held=$(stat -L -c '%b' -- "$file" 2>/dev/null) # 512 bytes each
    said=$(filefrag -sv -- "$file" 2>/dev/null </dev/null | bt_extent_sums "${held:-0}")
    if [ -n "$said" ]; then bt_say "at=$index $said"
    elif [ ! -e "$file" ]; then bt_kv why no-file
    else bt_kv why no-extents; fi
    index=$((index + 1))
  done
}

bt_extent_sums() { # BLOCKS of the file: where no extent maps them (FUSE), nothing is known
  # shellcheck disable=SC2016  # awk's dollars
  ${BENCHTUI_AWK:-awk} -v held="$1" '
    /^File size of .* is [0-9]+ \([0-9]+ blocks? of [0-9]+ bytes\)$/ { size = $(NF - 5); block = $(NF - 1) }
    /^ *[0-9]+: +[0-9]+\.\. *[0-9]+: / {
      split($0, part, ":")
      mapped += part[4]
      if ($0 ~ /[ ,]unwritten/) unwritten += part[4]
    }
    /: [0-9]+ extents? found$/ { found = 1 }
    END {
      if (!found || !block || (!mapped && 64 * 512 * held > size)) exit # a few blocks may hold attributes
      printf "%.0f %.0f %.0f\n", size, mapped * block, unwritten * block
    }'
}
