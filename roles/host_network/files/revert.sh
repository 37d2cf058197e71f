#!/bin/sh
# Put back the network configuration that was there before one that nobody confirmed. Argument `boot`: before the network starts.
# /var/lib/gpuyard/host-network/pending says how, a step a line. While it is there, the new configuration is on trial.
state=/var/lib/gpuyard/host-network
[ -e "$state/pending" ] || exit 0
echo "the new network configuration was not confirmed: going back to the former one"
while read -r step first second <&3; do
  case $step in
    restore) mkdir -p "${first%/*}" && cp -a "$state/former$first" "$first" ;;
    remove) rm -f "$first" ;;
    enable | disable) systemctl -q "$step" "$first" ;;
    netplan) netplan generate && systemctl daemon-reload ;;
  esac
  [ "${1:-}" = boot ] && continue
  case $step in
    start | stop | restart) systemctl "$step" "$first" ;;
    rename) ip link set "$first" down && ip link set "$first" name "$second" && ip link set "$second" up ;;
    delete) ip link delete "$first" ;;
    flush) ip -4 address flush dev "$first" scope global ;;
    flush-routes) ip -4 rule flush protocol static && ip -4 route flush table all protocol static ;;
    networkd) networkctl reload ;;
    # Last: an address that no program kept was set by hand, and is set again.
    address) ip link set "$second" up && ip address replace "$first" broadcast + dev "$second" ;;
    gateway) ip route replace default via "$first" dev "$second" ;;
  esac
done 3<"$state/pending"
mv "$state/pending" "$state/reverted"
systemctl --no-block stop gpuyard-host-network-revert.timer
