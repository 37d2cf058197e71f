# Print, one a line, the system's family, its kernel, which nccl-tests was built, `modules` with their kind (open, proprietary, or nothing
# where NVIDIA's are not there), `loaded` with nvidia and nvidia_peermem where they are, and `NAME VERSION STATE` of what is installed,
# hi for what is held or locked.
# Arguments: the file that says what was built, and names of packages.
echo "$family"
uname -r
built=$1
shift
printf '%s\n' "$(head -n 1 "$built" 2>/dev/null)"
# The loaded module names its kind, else the license of the one on disk does: NVIDIA's driver installation guide.
case "$(cat /proc/driver/nvidia/version 2>/dev/null || modinfo -F license nvidia 2>/dev/null)" in
  *Open* | *GPL*) echo modules open ;;
  "") echo modules ;;
  *) echo modules proprietary ;;
esac
loaded=
for module in nvidia nvidia_peermem; do [ ! -d "/sys/module/$module" ] || loaded="$loaded $module"; done
echo "loaded$loaded"
if [ "$family" = debian ]; then
  dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\n' "$@" 2>/dev/null || true
  exit 0
fi
locks=$(dnf -q versionlock list 2>/dev/null)
rpm -q --qf '%{NAME} %{VERSION}-%{RELEASE}\n' "$@" 2>/dev/null | grep -v ' .* ' | while read -r name version; do
  if echo "$locks" | grep -q "^$name-[0-9]"; then echo "$name $version hi"; else echo "$name $version ii"; fi
done
