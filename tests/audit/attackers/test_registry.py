"""The ladder: names to attackers."""

from __future__ import annotations

import pytest

from withhold.audit.attack_plan import (
    FRAMES,
    FRAMES_QUICK,
    FULL,
    PIXELS,
    PIXELS_QUICK,
    QUICK,
    ladder,
    models_of_originals,
)
from withhold.audit.attackers import attacker_names, get_attackers
from withhold.audit.attackers.attacker import OF_CLIPS, OF_IMAGES
from withhold.core.errors import UserError


def test_every_attacker_is_on_the_ladder_weakest_first():
    assert attacker_names() == (*FULL, *PIXELS, *FRAMES)
    assert [a.name for a in get_attackers(["trees", "prior"])] == ["trees", "prior"]
    assert [a.name for a in ladder(quick=True)] == list(QUICK)
    assert set(QUICK) < set(FULL)


def test_only_an_audit_of_images_has_attackers_of_pixels():
    assert [a.name for a in ladder(quick=False)] == list(FULL)
    assert [a.name for a in ladder(quick=False, pixels="image")] == [*FULL, *PIXELS]
    assert [a.name for a in ladder(quick=True, pixels="image")] == [*QUICK, *PIXELS_QUICK]
    assert {a.name for a in ladder(quick=False, pixels="image") if a.view in OF_IMAGES} == {*PIXELS}


def test_an_audit_of_clips_has_attackers_of_frames_and_motion():
    full, quick = (ladder(quick=q, pixels="clip") for q in (False, True))
    assert [a.name for a in full] == [*FULL, *FRAMES]
    assert [a.name for a in quick] == [*QUICK, *FRAMES_QUICK]
    assert {a.view for a in full if a.name in FRAMES} == set(OF_CLIPS)
    assert {a.name for a in full if a.name in FRAMES and a.raw} == {"frames-cnn", "clips-r3d"}
    assert all(a.starts_warm for a in full if a.name in FRAMES)


def test_an_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(UserError, match=r"no attacker 'logistics'; did you mean 'logistic'\?"):
        get_attackers(["prior", "logistics"])
    with pytest.raises(UserError, match=r"no attacker 'xyz' \(attackers: prior, logistic"):
        get_attackers(["xyz"])


def test_models_of_originals_are_those_that_say_so_else_all():
    assert {a.name for a in models_of_originals(ladder(quick=False))} == {*FULL} - {
        "prior",
        "bits",
        "waves",
        "parity",
    }
    assert models_of_originals(get_attackers(["prior"])) == get_attackers(["prior"])


@pytest.mark.parametrize("name", FULL)
def test_costs_are_of_this_world_and_grow(name):
    (attacker,) = get_attackers([name])
    small, large = attacker.cost(500, 10, 2), attacker.cost(50_000, 256, 60)
    assert 0 < small < 5
    assert small <= large < 3600
