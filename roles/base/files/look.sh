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
# Who can log in by a key of their own, and who of them may become root by other files than this role's.
keyed=$(getent passwd | while IFS=: read -r name _ _ _ _ home _; do
  ! grep -qs '^[^#]' "$home/.ssh/authorized_keys" || echo "$name"
done)
admins=$(for name in $keyed; do
  if [ "$(id -u "$name")" = 0 ]; then
    echo "$name"
  elif ! grep -qs "^$name " /etc/sudoers.d/90-gpuyard && sudo -n -l -U "$name" 2>/dev/null | grep -q '^ *('; then
    echo "$name"
  fi
done | list)
# Those of an earlier run of this role.
former=$(sed -n 's/ ALL=.*//p' /etc/sudoers.d/90-gpuyard 2>/dev/null | while read -r name; do
  ! grep -qs '^[^#]' "/etc/ssh/authorized_keys.d/$name" || echo "$name"
done | list)
printf '{"family": "%s", "interrupted": %s, "packages": [%s], "passwd": [%s], "group": [%s], "kernel_arguments": [%s], "our_arguments": [%s], ' \
  "$family" "$interrupted" "$packages" "$(getent passwd | list)" "$(getent group | list)" "$arguments" "$ours"
printf '"keyed": [%s], "admins": [%s], "former_admins": [%s]}\n' "$(echo "$keyed" | grep . | list)" "$admins" "$former"
