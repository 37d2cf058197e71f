"""Have a host of a Ceph of real daemons fall silent: how long clients wait until it is out, and while all is rebuilt without it.

Seven OSDs on files in three racks, one of which falls silent. Root, and the packages ceph-mon, ceph-mgr, ceph-osd, python3-rados.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from clients import compare, require_ceph, summarize

from tests.ceph.growth import run_growth

QUIET_S, LOST = 30, 6


def main():
    """Measure a quiet store, and the same one while it loses a host."""
    require_ceph()
    with tempfile.TemporaryDirectory(prefix="gpuyard-bench-") as folder, run_growth(Path(folder)) as growth:
        growth.yard.inside("ceph", "balancer", "off")
        with growth.write_meanwhile() as found:
            begun = time.time()
            time.sleep(QUIET_S)
            silent, down, out, whole = growth.lose(LOST)
        quiet = summarize(found["writes"], [(begun, silent)])
        print(json.dumps({"quiet": quiet}), flush=True)
        for name, span in {"until_down": (silent, down), "until_out": (down, out), "rebuilding": (out, whole)}.items():
            told = summarize(found["writes"], [span])
            print(json.dumps({name: told | compare(told, quiet)}), flush=True)
        print(json.dumps({"lost": len(found["lost"])}))


if __name__ == "__main__":
    main()
