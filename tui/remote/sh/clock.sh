# The time of day.

bt_clock() { # answers each line with the time, until an empty line or the end of input
  local line=''
  bt_say "BT-CLOCK $BT_TOKEN"
  while read -r line && [ "$line" ]; do date +%s.%N; done
}
