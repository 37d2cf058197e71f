# Finish what dpkg was interrupted in, as by a loss of power, once no other program has its lock, and print what that was; nothing where
# there was nothing. Argument: seconds to wait for the lock.
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
end=$(($(date +%s) + $1))
until said=$(dpkg --configure -a --force-confdef --force-confold 2>&1 </dev/null); do
  case $said in
    *"lock"*"by another process"*)
      if [ "$(date +%s)" -lt "$end" ]; then
        sleep 2
        continue
      fi
      fix="see what that process waits for, and run again once it is done"
      ;;
    *) fix="run dpkg --configure -a on the host, and mend or remove the package that it names" ;;
  esac
  echo "$said" | tail -n 20 >&2
  echo "dpkg was interrupted, and dpkg --configure -a does not finish it; fix: $fix" >&2
  exit 1
done
if [ -n "$said" ]; then echo "$said"; fi
