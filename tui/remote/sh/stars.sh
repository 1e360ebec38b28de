# Secrets of a load stay out of the spool: its output goes through an awk that replaces them with asterisks. Part of the
# runner, see supervise.sh.

bt_stars_ready() { # is there a secret, and an awk? Then what the load prints to these FIFOs reaches the spool without it
  BT_STARS='' BT_HIDDEN=${BT_SECRETS-}
  unset BT_SECRETS
  # shellcheck disable=SC2086  # an awk may be two words
  [ -n "$BT_HIDDEN" ] && command -v ${BENCHTUI_AWK:-awk} >/dev/null 2>&1 && mkfifo stars.out stars.err || return 1
  bt_stars <stars.out >&8 8>&- 9>&- &
  BT_STARS=$!
  bt_stars <stars.err >&9 8>&- 9>&- &
  BT_STARS="$BT_STARS $!"
}

bt_stars_end() { # waits until all that the load printed is in the spool; not for others that hold on to its output
  local tries=0 pid=''
  for pid in $BT_STARS; do
    while bt_proc "$pid" && [ "$tries" -lt 50 ]; do
      bt_nap 0.1
      tries=$((tries + 1))
    done
  done
  rm -f stars.out stars.err
}

# shellcheck disable=SC2016  # awk's dollars
bt_stars() { # copies lines; the values of the variables BT_HIDDEN, also as JSON has them, become as many stars
  local awk="${BENCHTUI_AWK:-awk}" now=''
  unset BENCHTUI_RUN BENCHTUI_HOST BENCHTUI_TASK # it is no load: it ends when the last one that prints has ended
  case $($awk -W version 2>&1 </dev/null) in mawk*) now='-W interactive' ;; esac # else it waits until its buffer is full
  # shellcheck disable=SC2086  # words
  exec $awk $now -v names="$BT_HIDDEN" '
    function add(text, at) {
      if (text ~ /^[*]*$/) return
      for (at = total++; at > 0 && length(word[at]) < length(text); at--) word[at + 1] = word[at]
      word[at + 1] = text
    }
    function escaped(text, at, one, out) {
      for (at = 1; at <= length(text); at++) {
        one = substr(text, at, 1)
        out = out (one == "\\" || one == "\"" ? "\\" one : one)
      }
      return out
    }
    function stars(count, out) { while (count-- > 0) out = out "*"; return out }
    BEGIN {
      count = split(names, name, " ")
      for (i = 1; i <= count; i++) { add(ENVIRON[name[i]]); add(escaped(ENVIRON[name[i]])) }
    }
    {
      line = $0
      for (i = 1; i <= total; i++)
        while (at = index(line, word[i]))
          line = substr(line, 1, at - 1) stars(length(word[i])) substr(line, at + length(word[i]))
      print line
      fflush()
    }'
}
