#!/bin/bash
# Carry a connection from a network namespace to HOST PORT: what ssh calls a ProxyCommand.
# usage: reach.sh NAMESPACE HOST PORT
exec ip netns exec "$1" bash -c 'exec 3<>"/dev/tcp/$0/$1" && { cat <&3 & cat >&3; kill $!; }' "$2" "$3"
