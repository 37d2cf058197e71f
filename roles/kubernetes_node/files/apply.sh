# Have the kernel and the proxy read the files that changed. Arguments: their paths, and `swap` where swap is to go.
set -eu

# Print the processes of HAProxy that have read a configuration: the children of the one that systemd started.
list_workers() {
  main=$(systemctl show --property=MainPID --value haproxy)
  cat "/proc/$main/task/$main/children" 2>/dev/null || true
}

# A reload: a restart cuts every watch of the node, and all nodes do it at once. Connections that are there stay in the process that
# has them until one of their ends closes them; it checks no server any more, but clients ask every 30 s whether the other end is there.
# A reload succeeds where the new configuration cannot be loaded too, as with a port that is taken: then no new process stays.
read_proxy() {
  before=" $(list_workers) "
  systemctl "$1" haproxy || return 1
  seen=
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    for worker in $(list_workers); do
      case $before in *" $worker "*) continue ;; esac
      [ "$worker" != "$seen" ] || return 0
      seen=$worker
    done
    sleep 1
  done
  return 1
}

# Return whether a program listens where the file has HAProxy listen.
is_served() {
  ss -Hltn | awk '{print $4}' | grep -qxF "$(sed -n 's/^ *bind *//p' /etc/haproxy/haproxy.cfg)"
}

for path in "$@"; do
  case $path in
    # Where a container may not load modules, or the kernel's settings are read only, the service's own condition skips it.
    /etc/modules-load.d/*) systemctl restart systemd-modules-load ;;
    /etc/sysctl.d/*) settings=yes ;;
    swap) swapoff -a ;;
    /etc/haproxy/haproxy.cfg)
      # What ran with the package's own file may be denied the sockets that ours asks for; nobody is connected to it.
      read_proxy reload-or-restart || { ! is_served && read_proxy restart; } || {
        journalctl --unit haproxy --lines 10 --no-pager --output cat >&2
        echo "haproxy does not load what was rendered; fix: see what it says above, then run again" >&2
        exit 1
      }
      ;;
  esac
done
# Last: settings of a module are there once it is.
[ -z "${settings:-}" ] || systemctl restart systemd-sysctl
