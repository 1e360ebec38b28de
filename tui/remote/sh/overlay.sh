# The layers of an overlay file system: where what it shows really is. Rules: base.sh.

bt_in_layers() { # ROOT MOUNT-POINT OPTIONS PATH: as mountinfo has them, PATH plain; prints where PATH is: a file in the highest
  # layer that has it, a directory in every layer, from the highest down; nothing if the layers cannot be seen from here
  local at="${2%/}" options='' upper='' dir='' rest="$4"
  bt_unescaped "$at"
  rest=${rest#"$BT_GOT"}
  bt_unescaped "${1%/}"
  rest=${BT_GOT#/}/${rest#/} rest=${rest#/} rest=${rest%/}
  options=$(bt_say "$3" | sed -e 's/\\134:/\\072/g' -e 's/\\134,/\\054/g' | tr ',' '\n')
  upper=$(bt_say "$options" | sed -n 's/^upperdir=//p')
  bt_unescaped "$upper"
  [ -z "$upper" ] || [ -d "$BT_ROOT$BT_GOT" ] || return 0
  {
    [ -z "$upper" ] || bt_say "$upper"
    bt_say "$options" | sed -n -e 's/^lowerdir+*=//p' -e 's/^datadir+=//p' | tr -s ':' '\n'
  } | while IFS= read -r dir; do
    bt_unescaped "$dir"
    case $BT_GOT in /*) dir=${BT_GOT%/}${rest:+/$rest} ;; *) continue ;; esac
    if [ -d "$BT_ROOT$dir" ]; then bt_say "$dir"
    elif [ -f "$BT_ROOT$dir" ]; then bt_say "$dir"; break
    elif [ -e "$BT_ROOT$dir" ]; then break # removed: a device 0:0
    fi
  done
}

bt_unescaped() { # WORD of mountinfo: sets BT_GOT
  case $1 in
    *\\*) BT_GOT=$(bt_say "$1" | sed -e 's/\\040/ /g' -e 's/\\054/,/g' -e 's/\\072/:/g' -e 's/\\134/\\/g') ;;
    *) BT_GOT=$1 ;;
  esac
}
