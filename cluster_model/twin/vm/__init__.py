"""A small virtual machine with Debian's kernel, for what this machine's own lacks: VRFs, VLANs, bonds, VLAN-aware bridges."""
