# The time of day.

bt_clock() { # answers every line with the time, until an empty one or the end of its input
  local line=''
  bt_say "BT-CLOCK $BT_TOKEN"
  while read -r line && [ "$line" ]; do date +%s.%N; done
}
