# The time of day.

bt_clock() { # answers every line with the time, until its input ends
  local line=''
  bt_say "BT-CLOCK $BT_TOKEN"
  while read -r line; do date +%s.%N; done
}
