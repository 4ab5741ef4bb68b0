from __future__ import annotations

import pytest
import yaml

from withhold.audit.audit_settings import AuditSettings
from withhold.core.errors import UserError


def read(text: str) -> AuditSettings:
    return AuditSettings.read(yaml.safe_load(text) or {})


def test_nothing_said_is_the_default():
    assert read("") == AuditSettings()
    assert AuditSettings().suppress == ()
    assert AuditSettings().seed == 0


@pytest.mark.parametrize(
    "text", ["suppress: [speaker, age]", "suppress: speaker, age", "suppress: 'speaker,age,'"]
)
def test_lists_may_be_text_with_commas(text):
    assert read(text).suppress == ("speaker", "age")


@pytest.mark.parametrize(
    ("text", "joint"),
    [
        ("joint: gender,accent", ("gender,accent",)),
        ("joint: ['gender,accent', 'a,b']", ("gender,accent", "a,b")),
        ("joint: [[gender, accent], [a, b]]", ("gender,accent", "a,b")),
        ("joint: [[gender, 3]]", ("gender,3",)),  # a column may be named so
        ("joint:", ()),
    ],
)
def test_joint_attributes_are_pairs(text, joint):
    assert read(text).joint == joint


def test_a_gate_is_one_text_or_several():
    assert read("fail_if: speaker>floor+2; digit<95").fail_if == ("speaker>floor+2; digit<95",)
    assert read("fail_if: [speaker>floor+2, digit<95]").fail_if == ("speaker>floor+2", "digit<95")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("supress: a", r"an audit has no setting 'supress'; did you mean 'suppress'\?"),
        ("colour: red", r"no setting 'colour' \(settings: suppress, preserve, joint"),
        ("seed: -1", "setting 'seed' of the audit: Input should be greater than or equal to 0"),
        ("seed: soon", "setting 'seed' of the audit"),
        ("quick: perhaps", "setting 'quick' of the audit"),
        ("suppress: [1, 2]", "setting 'suppress' of the audit"),
        ("suppress: 5", "setting 'suppress' of the audit"),
        ("joint: 5", "setting 'joint' of the audit"),
        ("fail_if: {a: 5}", "setting 'fail_if' of the audit"),
    ],
)
def test_a_mistake_is_named(text, message):
    with pytest.raises(UserError, match=message):
        read(text)


def test_the_command_line_goes_over_the_file():
    file = read("{suppress: a, preserve: [b], fail_if: a>5, seed: 3, id: key, certificate: c}")
    found = file.over(
        suppress="c,d", preserve="", joint=["x,y"], fail_if=None, quick=True, id=None, seed=7
    )
    assert found.suppress == ("c", "d")
    assert found.preserve == ("b",)  # nothing said: the file's
    assert found.joint == ("x,y",)
    assert found.fail_if == ("a>5",)
    assert found.quick is True
    assert found.id == "key"
    assert found.certificate == "c"
    assert file.over(certificate="other.json").certificate == "other.json"
    assert found.seed == 7
    assert file.over() == file


def test_what_the_command_line_says_is_checked_too():
    with pytest.raises(UserError, match="setting 'seed'"):
        AuditSettings().over(seed=-1)
