"""Methods by name, and settings that say what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from withhold.core.errors import UserError
from withhold.methods import get_method, method_names, read_config
from withhold.methods.features.mass.config import MassConfig, weight_of

BASELINES = ("identity", "constant", "noise", "random-substitute", "leace")


def test_the_methods_are_registered_under_their_names() -> None:
    assert {"mass", "mass-it", "pass", *BASELINES} <= set(method_names())
    for name in method_names():
        method = get_method(name)
        assert method.name == name
        assert method.modifier_type.method == name


def test_an_unknown_method_is_named_with_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"no method 'maas'; did you mean 'mass'\?.*leace"):
        get_method("maas")


@pytest.mark.parametrize("name", ["mass", "mass-it", "pass", *BASELINES])
def test_every_method_runs_without_settings(name: str) -> None:
    assert read_config(name, None) == read_config(name, {}) == get_method(name).config_type()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agnostik": 1}, r"no setting 'agnostik'; did you mean 'agnostic'\?"),
        (
            {"contrastive": {"temprature": 1}},
            r"no setting 'contrastive.temprature'; did you mean 'temperature'\?",
        ),
        # the suggestion is a setting of that place, not one of the same letters elsewhere
        ({"attribute_model": {"entropi": 1}}, r"'attribute_model.entropi'(?!.*entropy)"),
        ({"epochs": 0}, r"'epochs' of method 'mass'.*greater than or equal to 1"),
        ({"similarity": "cos"}, r"'similarity'.*'cosine', 'kl' or 'ce'"),
        ({"suppression": -1}, r"'suppression' of.*greater than or equal to 0"),
        ({"suppression": [1, -2]}, r"'suppression\.1' of.*greater than or equal to 0"),
        ({"entropy": {"speaker": -2}}, r"'entropy\.speaker' of.*greater than or equal to 0"),
        ({"contrastive": {"drop": 1}}, r"'contrastive\.drop' of.*less than 1"),
        ({"contrastive": {"temperature": 0.001}}, r"'contrastive\.temperature'"),
        ({"attribute_model": {"hidden": []}}, r"'attribute_model\.hidden'.*at least 1"),
        ({"hidden": [8, 0]}, r"'hidden\.1'.*greater than 0"),
        ({"batch": 1}, r"'batch'.*greater than or equal to 2"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_config("mass", settings)


def test_a_method_without_settings_takes_none() -> None:
    with pytest.raises(UserError, match="method 'constant' has no setting 'sigma'"):
        read_config("constant", {"sigma": 1})


def test_an_unknown_preset_is_named_with_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"preset 'adiense'; did you mean 'adience'\?"):
        read_config("mass", {"preset": "adiense"})
    with pytest.raises(UserError, match="method 'noise' has no preset 'adience'"):
        read_config("noise", {"preset": "adience"})


# MaSS, Table 7 (METHODS.md, section 1): batch, lr, rec, s, h, r*, r.
TABLE_7 = {
    "adience": (64, 0.00125, 1, 5, 1, 40, 1),
    "audiomnist": (512, 0.01, 10, 0.001, 0.1, 15, (0.01, 0.001, 0.001)),
    "pa-hmdb": (512, 0.01, 1, 1, 0.1, 1000, 50),
}


@pytest.mark.parametrize("preset", TABLE_7)
def test_presets_are_the_papers(preset: str) -> None:
    c = read_config("mass", {"preset": preset})
    assert isinstance(c, MassConfig)
    found = (
        c.batch, c.learning_rate, c.reconstruction, c.suppression, c.entropy, c.agnostic,
        c.preservation,
    )  # fmt: skip
    assert found == TABLE_7[preset]
    assert c.hidden == (256, 128, 256)
    assert (c.epochs, c.weight_decay, c.similarity, c.preserve_similarity) == (
        100, 0.05, "cosine", "kl"
    )  # fmt: skip
    model = c.attribute_model
    assert (model.hidden, model.epochs, model.batch) == ((512, 256), 100, 256)
    assert (model.learning_rate, model.weight_decay) == (0.01, 0.05)
    contrast = c.contrastive
    assert (contrast.epochs, contrast.learning_rate) == (100, 0.05)
    assert (contrast.weight_decay, contrast.temperature) == (1e-4, 0.07)


def test_a_preset_can_be_overridden_even_in_part() -> None:
    c = read_config(
        "mass", {"preset": "adience", "agnostic": 3, "contrastive": {"temperature": 0.2}}
    )
    assert isinstance(c, MassConfig)
    assert (c.agnostic, c.suppression) == (3, 5)
    assert (c.contrastive.temperature, c.contrastive.epochs) == (0.2, 100)
    # and the preset itself is as it was
    again = read_config("mass", {"preset": "adience"})
    assert isinstance(again, MassConfig)
    assert (again.agnostic, again.contrastive.temperature) == (40, 0.07)


def test_settings_survive_json() -> None:
    c = read_config("mass", {"preset": "audiomnist", "entropy": {"speaker": 0.5}})
    assert read_config("mass", c.model_dump(mode="json")) == c
    assert read_config("mass", c) == c


def test_weights_as_number_list_and_mapping() -> None:
    names = ("digit", "accent", "gender")
    assert weight_of(2.0, names, setting="s") == {"digit": 2, "accent": 2, "gender": 2}
    assert weight_of((1.0, 2.0), names, setting="s") == {"digit": 1, "accent": 2, "gender": 2}
    assert weight_of((1.0, 2.0, 3.0, 4.0), names, setting="s") == {
        "digit": 1, "accent": 2, "gender": 3
    }  # fmt: skip
    assert weight_of({"accent": 0.0}, names, setting="s") == {
        "digit": 1, "accent": 0, "gender": 1
    }  # fmt: skip
    assert weight_of(2.0, (), setting="s") == {}


def test_a_weight_for_nobody_is_refused() -> None:
    with pytest.raises(UserError, match=r"'entropy'.*'speker'.*did you mean 'speaker'\?"):
        weight_of({"speker": 1.0}, ("speaker",), setting="entropy")
    with pytest.raises(UserError, match="'entropy' is an empty list"):
        weight_of((), ("speaker",), setting="entropy")
