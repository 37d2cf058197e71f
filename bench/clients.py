"""What clients of a Ceph of real daemons wait for while something happens: shared by expand.py and recovery.py."""

import os
import shutil
import sys


def require_ceph():
    """End where no Ceph can be run."""
    lacking = [name for name in ("ceph-mon", "ceph-mgr", "ceph-osd", "rados") if not shutil.which(name)]
    if os.getuid() or lacking:
        sys.exit(f"no Ceph runs here without {', '.join(lacking) or 'root'}")


def summarize(writes, spans):
    """Return how long writes took that were due in some spans of time, each from and to: how many, and the slow ones of them."""
    took = sorted(ms for due, ms in writes if any(start <= due < end for start, end in spans))
    if not took:
        sys.exit("nothing was written meanwhile, so this says nothing")
    found = {"seconds": round(sum(end - start for start, end in spans), 1), "writes": len(took), "most_ms": took[-1]}
    return found | {f"p{part}_ms": took[len(took) * part // 100] for part in (50, 99)}


def compare(found, quiet):
    """Return what was waited for, as times of what clients of the quiet store wait for."""
    return {f"{part}_times_quiet": round(found[f"{part}_ms"] / quiet[f"{part}_ms"], 2) for part in ("p50", "p99", "most")}
