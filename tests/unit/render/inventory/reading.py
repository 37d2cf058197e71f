"""How Ansible reads an inventory."""


def get_vars(body, host):
    """Return a host's variables as Ansible merges them: all, its groups, its own."""
    merged = dict(body["all"]["vars"])
    for group in body.values():
        if host in group.get("hosts", ()):
            merged |= group.get("vars", {})
    return merged | body["_meta"]["hostvars"][host]
