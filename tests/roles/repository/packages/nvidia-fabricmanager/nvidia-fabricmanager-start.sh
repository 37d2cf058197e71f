#!/bin/sh
# Double of the script that NVIDIA's unit starts: with NVLink 5 it asks ibstat for the port that the NVSwitches are managed by, and wants
# ib_umad loaded and nvlsm installed, or it exits 1. Words: logs of operators (github.com/spectrocloud/CanvOS pull request 700, and those who
# met nvlsm's absence on HGX B300). What it says without ibstat is the double's own.
set -eu
nvlsm=/opt/nvidia/nvlsm/sbin/nvlsm
while [ $# -gt 1 ]; do
  case $1 in --fm-config-file) config=$2 ;; esac
  shift 2
done
if grep -qs SW_MNG /sys/bus/pci/devices/*/vpd; then
  echo "Polling for at least one Infiniband device before starting Fabric Manager..."
  command -v ibstat >/dev/null || { echo "double: ibstat: command not found" >&2; exit 1; }
  echo "Detected NVL5+ system"
  if [ ! -d /sys/module/ib_umad ]; then
    echo 'Kernel module "ib_umad" has not been loaded, fabric manager cannot be started' >&2
    exit 1
  fi
  if [ ! -x "$nvlsm" ]; then
    echo "\"$nvlsm\" does not exist. Please install \"Nvidia NVLink Subnet Manager\" (nvlsm) package" >&2
    exit 1
  fi
else
  echo "Detected Pre-NVL5 system"
fi
exec /usr/bin/nv-fabricmanager -c "$config"
