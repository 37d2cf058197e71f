# Print the system's family, its name, its version the machine's architecture and whether dpkg was interrupted, or refuse a system that the role does not know.
. /etc/os-release
case " $ID ${ID_LIKE:-} " in
  *" debian "*) family=debian ;;
  *" rhel "* | *" fedora "*) family=redhat ;;
  *)
    echo "$(uname -n) runs $ID; expected Debian, Ubuntu or Rocky; fix: install one of these" >&2
    exit 1
    ;;
esac
state=whole
[ -z "$(ls /var/lib/dpkg/updates 2>/dev/null)" ] || state=interrupted
echo "$family $ID $VERSION_ID $(uname -m) $state"
