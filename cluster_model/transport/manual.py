"""Manuals of secrets (SEC)."""

from __future__ import annotations

from cluster_model.intent.manual import Entry

_PLACES = (
    "Encrypt secrets.yml beside the intent with ansible-vault, one `name: 'value'` a line, and name the file of its password in "
    "ANSIBLE_VAULT_PASSWORD_FILE; or set the variable that the finding names, GPUYARD_SECRET_ and the name in capitals. A value "
    "for one device stands under NAME/DEVICE, such as bmc-password/gpu-001, or in a variable that ends in __GPU_001."
)

MANUALS: dict[str, Entry] = {
    "SEC001": Entry(
        "secrets cannot be opened",
        "The file of secrets cannot be read, or ansible-vault cannot decrypt it.",
        "See that the file is there, that ansible-core is there, and that ANSIBLE_VAULT_PASSWORD_FILE names the right password.",
    ),
    "SEC002": Entry(
        "secrets that others can read",
        "A file of secrets that is not encrypted must belong to its reader alone: every other account could switch the "
        "cluster off with it.",
        "Encrypt it with ansible-vault, or take the rights of others away with chmod 600.",
    ),
    "SEC003": Entry(
        "secrets in another form",
        "The file of secrets is a YAML mapping of names to texts. A password of digits alone is a number to YAML, and loses its "
        "leading zeros.",
        "Write one `name: 'value'` a line, the value in single quotes.",
    ),
    "SEC004": Entry("a secret is missing", "What is to be done needs a password that is nowhere, or that is empty.", _PLACES),
}
