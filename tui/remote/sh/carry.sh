# Programs that a run copies to the host, into the run's own directory; they are removed with it.

bt_carry() { # RUN HOST NAME FIRST PIECE: takes the next piece of a program, gzip in base64; FIRST=1 begins it anew
  bt_name "$1" "$2" "$3"
  bt_enter_new "$1/$2" with
  [ "$4" = 0 ] || : >"$3.part" || bt_cannot_write "$PWD/$3"
  command -v base64 >/dev/null 2>&1 && command -v gzip >/dev/null 2>&1 || bt_die "cannot copy $3 to this host: base64 and gzip are required"
  bt_say "$5" | base64 -d >>"$3.part" 2>/dev/null || bt_cannot_write "$PWD/$3"
}

bt_carried() { # RUN HOST NAME SHA256: path= of the program if it is complete; joins its pieces
  local sum=''
  bt_name "$1" "$2" "$3"
  bt_base
  cd "$BT_BASE/$1/$2/with" 2>/dev/null || return 0
  if [ -e "$3.part" ]; then
    gzip -dc "$3.part" >"$3.new" 2>/dev/null || bt_cannot_write "$PWD/$3"
    rm -f "$3.part"
    chmod 700 "$3.new" && mv -f "$3.new" "$3"
  fi
  [ -e "$3" ] || return 0
  [ -x "$3" ] || bt_die "cannot run $3 from /tmp on this host: it is mounted noexec"
  if command -v sha256sum >/dev/null 2>&1; then sum=$(sha256sum -- "$3" 2>/dev/null)
  elif command -v openssl >/dev/null 2>&1; then sum=$(openssl dgst -sha256 -r "$3" 2>/dev/null)
  else bt_die "cannot copy $3 to this host: sha256sum or openssl is required"; fi
  [ "${sum%% *}" = "$4" ] || return 0
  bt_kv path "$PWD/$3"
}
