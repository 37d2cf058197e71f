# Print the packages that are there, `family FAMILY`, and `program` where $1 is one.
echo "family $family"
dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p'
[ -x "$1" ] && echo program
true
