"""A small virtual machine with a kernel that has VRFs, VLAN-aware bridges and bonds, and a rendered fabric inside it."""
