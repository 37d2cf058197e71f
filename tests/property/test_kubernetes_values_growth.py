"""Values of Helm charts while a cluster grows within its plan: no server more changes any."""

from hypothesis import assume, given
from strategies import change, plan_of
from test_plan_growth import QUICK, growing_clusters

from cluster_model.render.kubernetes.images import render_images
from cluster_model.render.kubernetes.network.network_operator import render_policy
from cluster_model.render.kubernetes.values import render_values


@given(growing_clusters())
@QUICK
def test_growing_within_the_plan_changes_no_values(pair):
    groups = sorted(pair[0]["servers"])
    for cni in ("cilium", "calico"):
        asked = {"control": groups[0], "workers": groups, "cni": cni}
        old, _ = plan_of(change(pair[0], kubernetes=asked))
        new, _ = plan_of(change(pair[1], kubernetes=asked))
        assume(old is not None and new is not None)
        for render in (render_values, render_policy, render_images):
            assert dict(render(old)) == dict(render(new))
