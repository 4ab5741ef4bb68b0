"""What leaves with a release says nothing from which single labels could be computed."""

from __future__ import annotations

import json

from report.samples import certified_release
from withhold.audit.handed_over import handed_over
from withhold.report.page import render


def test_no_figure_of_two_original_columns_leaves() -> None:
    whole = certified_release()
    assert whole.feasibility.pairs
    leaves = handed_over(whole)
    told = json.loads(leaves.json_bytes())["feasibility"]
    assert not any(told[name] for name in ("pairs", "entropy", "majority"))
    assert told["floor"] == dict(whole.feasibility.floor)
    page = render(leaves)
    assert "is not handed over" in page
    assert "Bits that two attributes share" not in page
    assert "Bits that two attributes share" in render(whole)
