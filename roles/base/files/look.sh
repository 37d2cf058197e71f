# Print, as JSON, what one look at the host tells. Arguments: packages to look for.
list() { sed 's/["\\]//g; s/.*/"&"/' | paste -sd, -; }
interrupted=false
if [ "$family" = debian ]; then
  packages=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | sed -n 's/ installed$//p' | list)
  [ -z "$(ls /var/lib/dpkg/updates)" ] || interrupted=true
else
  packages=$(rpm -q --qf '%{NAME}\n' "$@" 2>/dev/null | grep -v ' ' | list)
fi
arguments=$(grubby --info=DEFAULT 2>/dev/null | sed -n 's/^args="\(.*\)"$/\1/p' | tr ' ' '\n' | list)
ours=$(tr ' ' '\n' 2>/dev/null </etc/gpuyard-kernel-arguments | grep . | list)
# The program admins.py, which is this script's standard input.
admins=$(python3 -) || exit 1
printf '{"family": "%s", "interrupted": %s, "packages": [%s], "passwd": [%s], "group": [%s], "kernel_arguments": [%s], "our_arguments": [%s], ' \
  "$family" "$interrupted" "$packages" "$(getent passwd | list)" "$(getent group | list)" "$arguments" "$ours"
printf '%s}\n' "$admins"
