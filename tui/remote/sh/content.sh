# Content of files and devices, from a few blocks of 4 KiB, read with O_DIRECT if possible. Nothing is written.

bt_sample() { # FILE NUMBER...: of each block `at=INDEX CRC GZIPPED`, GZIPPED its size as gzip packs it; zero= CRC of zeros;
  # `row=` and `apart=` as bt_pieces: of 1 MiB from the first block on, and of all blocks
  local index=0 sum='' direct=iflag=direct packed=- file='' each=''
  [ $# -gt 1 ] || return 0
  sum=$(bt_sampled "$1" "$2" "$direct" | cksum)
  [ "${sum#* }" = 4096 ] || direct='' # tmpfs of old kernels, busybox
  bt_sampled "$1" "$2" "$direct" 256 | bt_pieces row
  for each; do
    if [ -z "$file" ]; then file=$each && continue; fi
    bt_sampled "$file" "$each" "$direct"
    file=''
  done | bt_pieces apart
  sum=$(bt_sampled /dev/zero 0 | cksum)
  bt_kv zero "${sum%% *}"
  while [ $# -gt 1 ]; do
    sum=$(bt_sampled "$1" "$2" "$direct" | cksum)
    if [ "${sum#* }" = 4096 ]; then
      packed=$(bt_sampled "$1" "$2" "$direct" | gzip -1c 2>/dev/null | wc -c)
      bt_say "at=$index ${sum%% *} $((packed))"
    fi
    shift 2
    index=$((index + 1))
  done
}

bt_sampled() { dd if="$1" bs=4096 skip="$2" count="${4:-1}" ${3:+"$3"} 2>/dev/null </dev/null; } # FILE NUMBER [FLAG [COUNT]]

bt_pieces() { # KEY: `KEY=PIECES DIFFERENT` of the 16 bytes long pieces of the input that are not zeros
  # shellcheck disable=SC2016  # awk's dollars
  od -An -v -t x8 2>/dev/null | ${BENCHTUI_AWK:-awk} -v key="$1" '
    /[1-9a-f]/ { pieces++; if (!($0 in seen)) { seen[$0]; different++ } }
    END { print key "=" pieces + 0, different + 0 }'
}
