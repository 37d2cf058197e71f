# Print, as JSON, what one look at the host tells, or refuse a system that the role does not know. Arguments: packages to look for.
. /etc/os-release
case " $ID ${ID_LIKE:-} " in
  *" debian "*) family=debian ;;
  *" rhel "* | *" fedora "*) family=redhat ;;
  *)
    echo "$(uname -n) runs $ID; expected Debian, Ubuntu or Rocky; fix: install one of these" >&2
    exit 1
    ;;
esac
list() { sed 's/["\\]//g; s/.*/"&"/' | paste -sd, -; }
if [ "$family" = debian ]; then
  packages=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | sed -n 's/ installed$//p' | list)
else
  packages=$(rpm -q --qf '%{NAME}\n' "$@" 2>/dev/null | grep -v ' ' | list)
fi
arguments=$(grubby --info=DEFAULT 2>/dev/null | sed -n 's/^args="\(.*\)"$/\1/p' | tr ' ' '\n' | list)
ours=$(tr ' ' '\n' 2>/dev/null </etc/gpuyard-kernel-arguments | grep . | list)
# Files of ours as no program has read them yet: a run was cut off before apply.sh came to its end.
unread=$({
  echo /etc/hostname
  grep -ls "gpuyard's role base" /etc/systemd/*.conf.d/* /etc/chrony.conf /etc/chrony/chrony.conf /etc/ssh/sshd_config.d/* \
    /etc/sysctl.d/* /etc/default/grub.d/*
} | xargs cksum 2>/dev/null | while read -r sum; do
  grep -qsxF "$sum" /var/lib/gpuyard/base-read || echo "${sum##* }"
done | list)
printf '{"family": "%s", "packages": [%s], "passwd": [%s], "group": [%s], "kernel_arguments": [%s], "our_arguments": [%s], "unread": [%s]}\n' \
  "$family" "$packages" "$(getent passwd | list)" "$(getent group | list)" "$arguments" "$ours" "$unread"
