# Print the system's family, its name, its version, the machine's architecture, and whether dpkg was interrupted.
state=whole
[ -z "$(ls /var/lib/dpkg/updates 2>/dev/null)" ] || state=interrupted
echo "$family $ID $VERSION_ID $(uname -m) $state"
