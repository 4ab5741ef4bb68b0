from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from withhold.core.errors import UserError
from withhold.records.readers.file_pattern import Pattern, typed


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("{age}_{sex}_{race}_*.jpg", "25_0_2_2017.jpg", {"age": "25", "sex": "0", "race": "2"}),
        ("{age}_{sex}_{race}_*.jpg", "25_0_2_a_b_c.JPG", {"age": "25", "sex": "0", "race": "2"}),
        ("{age}_{sex}_{race}_*.jpg", "25_0_2.jpg", None),
        ("{age}_*.jpg", "25_x.png", None),
        ("{age}_*", "25_x.png", {"age": "25"}),
        ("{who}/*", "faces/anna/01.png", {"who": "anna"}),
        ("{who}/{take}", "anna/v1.2.wav", {"who": "anna", "take": "v1.2"}),
        ("{split}/{label}/*", "train/cat/1.png", {"split": "train", "label": "cat"}),
        ("{who}/{take}", "01.png", None),
        ("{take}", "deep/down/01.png", {"take": "01"}),
        ("{a}(1).wav", "x(1).wav", {"a": "x"}),
        ("{a}(1).wav", "x1.wav", None),
        ("{a}.{b}.wav", "größe.ü.wav", {"a": "größe", "b": "ü"}),
        ("{a}_{b}", "x\ny_2.wav", {"a": "x\ny", "b": "2"}),
        ("{a}_x", "_x.wav", None),
    ],
)
def test_what_fits(pattern, path, found):
    assert Pattern(pattern).match(path) == found


WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)


@given(st.lists(WORDS, min_size=2, max_size=5))
def test_labels_that_were_put_into_a_name_are_read_from_it(words):
    fields = [f"f{i}" for i in range(len(words))]
    pattern = Pattern("_".join(f"{{{f}}}" for f in fields) + ".png")
    assert pattern.match("some/where/" + "_".join(words) + ".png") == dict(
        zip(fields, words, strict=True)
    )


def test_whole_numbers_are_numbers_where_none_becomes_another():
    assert typed(["7", "31", None]).to_pylist() == [7, 31, None]
    assert typed(["7", "-1"]).type == pa.int64()
    for values in (["07", "7"], ["7", "x"], ["1.5"], ["9" * 18], [None, None], ["+1"]):
        assert typed(values).type == pa.string()
        assert typed(values).to_pylist() == values
    assert typed(["01", "02"]).to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("*.jpg", "has no fields; write them in braces"),
        ("", "has no fields"),
        ("{a}_{a}", "names 'a' twice"),
        ("{}_x", "'{}' is not a valid column name"),
        ("{a b}", "'{a b}' is not a valid column name"),
        ("{1}", "is not a valid column name"),
    ],
)
def test_mistakes(pattern, told):
    with pytest.raises(UserError) as caught:
        Pattern(pattern)
    assert told in str(caught.value)


@pytest.mark.parametrize("text", ["{{who}}_{n}", "{who}{_{n}", "}{who}_*"])
def test_braces_that_close_nothing_are_text(text):
    pattern = Pattern(text)
    plain = text.replace("{who}", "anna").replace("{n}", "7").replace("*", "x")
    found = pattern.match(plain)
    assert found == dict(zip(pattern.fields, ["anna", "7"], strict=False))
