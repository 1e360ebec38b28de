#!/bin/sh
# benchtui in one file: this script, and behind it a zip archive with every library. The first start unpacks what the
# Python here needs into a directory of its own; later starts go straight there. BENCHTUI_UNPACK names another place.
set -u
if [ -z "${HOME:-}" ]; then  # cron, systemd: the home of the user database, never the root directory
    user=$(id -un 2>/dev/null) && case $user in *[!A-Za-z0-9._-]* | "") ;; *) HOME=$(eval "echo ~$user") ;; esac
    case ${HOME:-} in /*) export HOME ;; *) unset HOME ;; esac
fi
if [ -z "${HOME:-}${XDG_CACHE_HOME:-}${BENCHTUI_UNPACK:-}" ]; then
    echo "benchtui: HOME is not set and this user has no home directory; BENCHTUI_UNPACK names a place to unpack to" >&2
    exit 2
fi
place=${BENCHTUI_UNPACK:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/benchtui}/@ID@
case $0 in /*) BENCHTUI_ONE_FILE=$0 ;; *) BENCHTUI_ONE_FILE=$PWD/$0 ;; esac
export BENCHTUI_ONE_FILE
[ -x "$place/bin/python" ] && exec "$place/bin/python" "$place/bin/benchtui" "$@"
for python in ${PYTHON:-} python3.14 python3.13 python3.12 python3.11 python3; do
    "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1 || continue
    "$python" -I "$0" core "$place" || exit
    exec "$place/bin/python" "$place/bin/benchtui" "$@"
done
echo "benchtui: needs Python 3.11 to 3.14, found none on PATH; PYTHON=/path/to/python3.11 names one" >&2
exit 2
