# Content of files and devices, from a few blocks of 4 KiB, read with O_DIRECT if possible. Nothing is written.

bt_sample() { # FILE NUMBER...: of each block `at=INDEX CRC GZIPPED`, GZIPPED its size as gzip packs it; zero= CRC of zeros
  local index=0 sum='' direct=iflag=direct packed=-
  sum=$(bt_sampled /dev/zero 0 | cksum)
  bt_kv zero "${sum%% *}"
  while [ $# -gt 1 ]; do
    sum=$(bt_sampled "$1" "$2" "$direct" | cksum)
    if [ "${sum#* }" != 4096 ] && [ -n "$direct" ]; then # tmpfs of old kernels, busybox
      sum=$(bt_sampled "$1" "$2" | cksum)
      [ "${sum#* }" != 4096 ] || direct=''
    fi
    if [ "${sum#* }" = 4096 ]; then
      packed=$(bt_sampled "$1" "$2" "$direct" | gzip -1c 2>/dev/null | wc -c)
      bt_say "at=$index ${sum%% *} $((packed))"
    fi
    shift 2
    index=$((index + 1))
  done
}

bt_sampled() { dd if="$1" bs=4096 skip="$2" count=1 ${3:+"$3"} 2>/dev/null </dev/null; } # FILE NUMBER [FLAG]
