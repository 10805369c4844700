#!/bin/sh
# Install the Debian packages listed in the given files, or name them in one line.
set -eu
wanted=$(sed -e 's/#.*//' "$@" | tr -s ' \n' ' ')
missing=""
for package in $wanted; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' \
        || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    echo "Missing system packages. Please run once: sudo apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
echo "Installing system packages:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -q >/dev/null
# shellcheck disable=SC2086
$as_root apt-get install -y -q --no-install-recommends $missing >/dev/null
