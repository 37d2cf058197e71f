"""What tests of roles share: the checkout under its name as a collection."""

import pytest

from roles import ROOT


@pytest.fixture(scope="session")
def collection():
    """Link the checkout to where Ansible looks for gpuyard.cluster, and return the folder of collections."""
    link = ROOT / ".ansible/collections/ansible_collections/gpuyard/cluster"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to("../../../..")
    return ROOT / ".ansible/collections"
