# Copyright: gpuyard maintainers
# GNU General Public License v3.0 or later (see https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fill secrets into a rendered file. It runs on the controller."""

from __future__ import annotations

import re
from typing import Any

DOCUMENTATION = r"""
name: kubernetes_control_fill
short_description: Fills secrets into a rendered file
description:
  - Puts each secret that is given where the file refers to it. What is not given stays a reference.
author: gpuyard maintainers
options:
  _input:
    description: Text of the file.
    type: str
    required: true
  secrets:
    description: Secrets by name.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Have the file as it is delivered
  ansible.builtin.set_fact:
    text: "{{ lookup('ansible.builtin.file', 'encryption.yaml') | gpuyard.cluster.kubernetes_control_fill(secrets) }}"
"""

RETURN = r"""
_value:
  description: The text.
  type: str
"""

REFERENCE = re.compile(r"\{\{gpuyard-secret:([a-z0-9-]+(?:/[a-z0-9.-]+)?)\}\}")
"""As cluster_model/references.py writes them."""


def kubernetes_control_fill(text: str, secrets: dict[str, Any]) -> str:
    """Return a file with its secrets."""
    return REFERENCE.sub(lambda found: str(secrets.get(found[1], found[0])), text)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return it by its name."""
        return {"kubernetes_control_fill": kubernetes_control_fill}
