# Print the packages that are there, `family FAMILY`, and `program` where $1 is one.
. /etc/os-release
case " $ID ${ID_LIKE:-} " in *" debian "*) echo "family debian" ;; *) echo "family $ID" ;; esac
dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p'
[ -x "$1" ] && echo program
true
