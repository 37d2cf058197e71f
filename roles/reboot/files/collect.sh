#!/bin/sh
# Print, as JSON, why this host wants a reboot, the processes that hold a GPU open, and which of the units named run. Reads only.
# Arguments: names of units, as patterns.
reasons=
for file in /run/gpuyard/reboot-required.d/*; do
  [ -f "$file" ] || continue
  line=$(tr '\n' ' ' <"$file" | sed 's/[\\"]/\\&/g; s/ *$//')
  reasons="$reasons${reasons:+, }\"${file##*/}: $line\""
done
users=
for process in $(find /proc/[0-9]*/fd -maxdepth 1 -lname '/dev/nvidia[0-9]*' 2>/dev/null | cut -d/ -f3 | sort -un); do
  name=$(cat "/proc/$process/comm" 2>/dev/null) || continue
  case $name in
    # Daemons of the driver, and those that only read counters, end with the system.
    nvidia-persiste* | nv-fabricmanage* | nv-hostengine | nvidia-imex | nvlsm | dcgm-exporter | nvidia-smi | nvidia-powerd) continue ;;
  esac
  users="$users${users:+, }\"$name ($process)\""
done
services=
[ $# -eq 0 ] || services=$(systemctl list-units --plain --no-legend --state=active,activating,reloading "$@" 2>/dev/null |
  sed 's/ .*//; s/["\\]//g; s/.*/"&"/' | paste -sd, -)
printf '{"reasons": [%s], "users": [%s], "services": [%s]}\n' "$reasons" "$users" "$services"
