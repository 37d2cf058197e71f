# Have programs read the files that changed. Arguments: their paths.
set -eu
umask 022
paths=$*
changed() {
  for path in $paths; do
    # shellcheck disable=SC2254
    case $path in $1) return 0 ;; esac
  done
  return 1
}
service() { systemctl cat "$1" >/dev/null 2>&1 && echo "$1" || echo "$2"; }
if changed /etc/hostname; then hostname -F /etc/hostname; fi
if changed '/etc/systemd/system.conf.d/*'; then systemctl daemon-reexec; fi
if changed '/etc/systemd/journald.conf.d/*'; then systemctl restart systemd-journald; fi
if changed '/etc/chrony*'; then
  chrony=$(service chrony.service chronyd.service)
  systemctl -q enable "$chrony"
  systemctl restart "$chrony"
fi
if changed '/etc/ssh/sshd_config.d/*'; then
  mkdir -p /run/sshd
  sshd -t
  systemctl try-reload-or-restart "$(service ssh.service sshd.service)"
fi
# Where the kernel's settings are read only, as in a container, the service's own condition skips it.
if changed '/etc/sysctl.d/*'; then systemctl restart systemd-sysctl; fi
if changed '/etc/default/grub.d/*' && command -v update-grub >/dev/null; then update-grub; fi
