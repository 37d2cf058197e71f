# Have the kernel and the proxy read the files that changed. Arguments: their paths, and `swap` where swap is to go.
set -eu
for path in "$@"; do
  case $path in
    # Where a container may not load modules, or the kernel's settings are read only, the service's own condition skips it.
    /etc/modules-load.d/*) systemctl restart systemd-modules-load ;;
    /etc/sysctl.d/*) settings=yes ;;
    swap) swapoff -a ;;
    # No reload: it succeeds, and the old configuration stays, where the new one cannot be loaded, as with a port that is taken.
    /etc/haproxy/haproxy.cfg)
      systemctl restart haproxy || {
        journalctl --unit haproxy --lines 10 --no-pager --output cat >&2
        echo "haproxy does not start with what was rendered; fix: see what it says above, then run again" >&2
        exit 1
      }
      ;;
  esac
done
# Last: settings of a module are there once it is.
[ -z "${settings:-}" ] || systemctl restart systemd-sysctl
