# serve.sh UNIT ... -- UNIT ...: have the first run, now and after a start, and restart the second. Prints what was done; where one
# does not run in the end, its last words.
set -euo pipefail
export LC_ALL=C
units=()
while [ "$1" != -- ]; do units+=("$1"); shift; done
shift
systemctl daemon-reload
for unit in "${units[@]}"; do
  systemctl is-enabled --quiet "$unit" 2>/dev/null || { systemctl enable --quiet "$unit" 2>/dev/null; echo "enabled $unit"; }
done
for unit in "$@"; do
  # chrony runs where its package starts it: a container may not set the clock.
  [ "$unit" != chrony ] || { systemctl try-restart chrony; echo "restarted chrony"; continue; }
  systemctl restart "$unit" || true
  echo "restarted $unit"
done
for unit in "${units[@]}"; do
  systemctl is-active --quiet "$unit" || { systemctl start "$unit" || true; echo "started $unit"; }
done
sleep 1
for unit in "${units[@]}"; do
  if ! systemctl is-active --quiet "$unit"; then
    echo "$unit does not run:" >&2
    journalctl --no-pager --lines 10 --output cat --unit "$unit" >&2
    exit 1
  fi
done
