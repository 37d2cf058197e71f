# Print, one a line, the system's family, its kernel, which nccl-tests was built, and `NAME VERSION STATE` of what dpkg has.
# Arguments: the file that says what was built, and names of packages.
. /etc/os-release
case " $ID ${ID_LIKE:-} " in
  *" debian "*) echo debian ;;
  *" rhel "* | *" fedora "*) echo redhat ;;
  *) echo "$ID" ;;
esac
uname -r
built=$1
shift
printf '%s\n' "$(head -n 1 "$built" 2>/dev/null)"
dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\n' "$@" 2>/dev/null || true
