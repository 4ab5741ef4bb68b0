"""Releases in which people draw: the same from a file in batches as from memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from methods.features.exact.planned import QUICK
from support import Recorder, key_of
from withhold.actions.fit import fit
from withhold.bundle.bundle import Bundle, load_bundle, save_bundle
from withhold.certificate import plan_tally
from withhold.certificate.release_file import ReleaseCertificate, certificate_path
from withhold.records.dataset import Dataset
from withhold.records.readers import open_source
from withhold.release.release_counts import ReleaseCounts
from withhold.release.released_dataset import release_dataset
from withhold.release.stream import release_features
from withhold.release.wishes import Wishes


@pytest.fixture(autouse=True)
def _without_samples() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_tally, "_KEPT", 0)
        yield


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(0)
    who, sex = np.repeat(np.arange(90), 4), np.repeat(np.arange(90) % 2, 4)
    x = rng.standard_normal((90, 3))[who] + sex[:, None]
    order = rng.permutation(len(who))
    table = {"sex": np.array(["f", "m"])[sex[order]].tolist(), "id": who[order].tolist()}
    return Dataset.from_arrays(x[order].astype(np.float32), table, name="visits", group="id")


@pytest.fixture(scope="module")
def bundle(data: Dataset) -> Bundle:
    config = QUICK | {"per": "person", "codes": 6, "least": 2}
    return fit(data, "sex", method="exact", config=config, key=key_of(0))


def test_a_file_in_batches_gives_the_release_of_memory(
    data: Dataset, bundle: Bundle, tmp_path: Path
) -> None:
    save_bundle(bundle, tmp_path / "bundle")
    data.write(tmp_path / "visits.parquet")
    out = tmp_path / "out.parquet"
    release_features(
        load_bundle(tmp_path / "bundle"),
        open_source(tmp_path / "visits.parquet"),
        out,
        Wishes(),
        features=bundle.feature_spec,
        progress=Recorder(),
        rows=37,
    )
    whole = release_dataset(bundle, data)
    np.testing.assert_array_equal(Dataset.read(out).x, whole.x)
    assert whole.certificate is not None
    assert ReleaseCertificate.from_json(certificate_path(out)).attributes == (
        whole.certificate.attributes
    )
    (people,) = {len(np.unique(whole.x[owner], axis=0)) for owner in _rows_by_person(data, whole)}
    assert people == 1  # one code for each person


def _rows_by_person(data: Dataset, whole: Dataset) -> list[np.ndarray]:
    who = np.array(data.table["id"].to_pylist())[whole.original_rows]
    return [np.flatnonzero(who == p) for p in np.unique(who)]


def test_all_rows_of_a_person_tell_no_more_than_one(data: Dataset, bundle: Bundle) -> None:
    certificate = release_dataset(bundle, data).certificate
    assert certificate is not None
    claim = certificate.attributes["sex"].release
    assert claim is not None
    assert claim.plan is not None
    assert claim.plan.person is not None
    assert claim.plan.person.all_rows == pytest.approx(0.5, abs=1e-6)
    assert any("Every person drew one code" in note for note in certificate.notes)


def test_counts_of_people_survive_as_bytes(data: Dataset, bundle: Bundle) -> None:
    counts = ReleaseCounts.of(bundle)
    assert counts.units is not None
    labels = {"sex": data.attribute("sex")}
    own = labels | {"id": data.attribute("id")}
    counts.units.add(
        bundle.modifier.unit_of(own, len(data)),
        labels,
        [""] * len(data),
        np.zeros(len(data), np.int64),
    )
    again = ReleaseCounts.from_bytes(counts.to_bytes(), bundle)
    assert again.units is not None
    assert again.units.to_json() == counts.units.to_json()
