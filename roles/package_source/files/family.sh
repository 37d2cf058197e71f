# Set `family` and what /etc/os-release says, or refuse a system that the roles do not know. It stands before the look.sh of each role.
. /etc/os-release
case " $ID ${ID_LIKE:-} " in
  *" debian "*) family=debian ;;
  *" rhel "* | *" fedora "*) family=redhat ;;
  *)
    echo "$(uname -n) runs $ID; expected Debian, Ubuntu or Rocky; fix: install one of these" >&2
    exit 1
    ;;
esac
