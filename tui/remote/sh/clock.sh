# The time of day.

bt_clock() { # answers every line with the time, until its input ends
  bt_say "BT-CLOCK $BT_TOKEN"
  while read -r BT_X; do date +%s.%N; done
}
