#!/bin/bash
# Carry a connection from a network namespace to HOST PORT: what ssh calls a ProxyCommand. It ends when either side does, since a
# host that restarts resets its connections, and a master connection that does not notice would hold up the next task for ever.
# usage: reach.sh NAMESPACE HOST PORT
exec ip netns exec "$1" bash -c '
  exec 3<>"/dev/tcp/$0/$1" 4<&0 || exit
  cat <&3 & cat <&4 >&3 &
  wait -n
  kill $(jobs -p) 2>/dev/null' "$2" "$3"
