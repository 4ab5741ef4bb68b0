"""What a job says about the rows that leave."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from withhold.release.policy import ColumnDecision, Decision
from withhold.release.release_files import Written
from withhold.server.job_results import leaving
from withhold.server.page.rendering import page


@pytest.mark.parametrize(
    ("apart", "same_order", "warned"), [(0.0, False, ""), (1.0, False, "id"), (0.0, True, "order")]
)
def test_rows_that_may_show_whose_they_are_are_a_warning(
    apart: float, same_order: bool, warned: str
) -> None:
    kept = ColumnDecision("id", True, "kept", "kept by name")
    written = Written("table", 9, Decision((kept,), apart=apart), ["id"], same_order, None, None)
    told = leaving(written)
    assert told["kept_by_name"] == ["id"]
    assert bool(told["whose_row"]) is bool(warned)
    assert warned in str(told["whose_row"])


@pytest.mark.parametrize("more", [{}, {"whose_row": None}, {"whose_row": "id may show it"}])
def test_the_page_shows_the_warning_beside_the_proof(more: dict[str, str | None]) -> None:
    """The result of an audit has neither this field nor columns that were left out."""
    words = {
        "tone": "floor",
        "says": "Nobody",
        "alarms": [],
        "proofs": [],
        "terms": [],
        "attributes": {},
    }
    result = {"words": words, "passed": True, "alarming": False, "records": 9, **more}
    asked = SimpleNamespace(dataset="6b" * 16)
    job = SimpleNamespace(kind="audit", id="5a" * 16, result=result, request=asked)
    shown = page(
        "result.html", job=job, name="a.csv", files=[], messages=[], signed=True
    ).body.decode()
    assert ("id may show it" in shown) is bool(more.get("whose_row"))
