"""What every method that trains on images or clips must keep, whatever its records are."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import withhold
from release_support import below
from support import Interrupted, Recorder, key_of
from withhold.actions.fit import FitRequest, fit_bundle, fit_to
from withhold.bundle.bundle import Bundle, load_bundle, save_bundle
from withhold.methods import Journal, get_method
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

TESTS = Path(__file__).parents[1]
# A fit in a process of its own, which is killed after two epochs.
KILLED = """
import importlib, os, signal, sys
sys.path.insert(0, sys.argv[1])
importlib.import_module(sys.argv[2])
from support import Interrupted, Recorder
from withhold.actions.fit import FitRequest, fit_to
request = FitRequest.model_validate_json(sys.argv[3])
try:
    fit_to(request, Recorder(stop_in=sys.argv[4], after=2))
except Interrupted:
    os.kill(os.getpid(), signal.SIGKILL)
"""


class TrainedMethodContract:
    """Image and clip contracts inherit it and say what their records are."""

    method: ClassVar[str]
    module: ClassVar[str]
    config: ClassVar[dict[str, Any]] = {}
    suppress: ClassVar[tuple[str, ...]]
    content: ClassVar[str]  # the name of a record's array

    @classmethod
    def dataset(cls) -> Dataset:
        raise NotImplementedError

    @classmethod
    def some(cls) -> list[Any]:
        """A few records, as a modifier takes them."""
        raise NotImplementedError

    @classmethod
    def fit(cls, progress: Any = None, journal: Any = None) -> Bundle:
        return fit_bundle(
            cls.dataset(),
            Roles.of(",".join(cls.suppress), "useful"),
            method=cls.method,
            config=cls.config,
            key=key_of(0),
            progress=progress,
            journal=journal,
        )

    @classmethod
    @cache
    def fitted(cls) -> Bundle:
        return cls.fit()

    def test_a_loaded_bundle_does_the_same(self, tmp_path: Path) -> None:
        save_bundle(self.fitted(), tmp_path / "bundle")
        loaded = load_bundle(tmp_path / "bundle").modifier
        assert isinstance(loaded, get_method(self.method).modifier_type)
        before = self.fitted().modifier.transform(self.some())
        for one, two in zip(before, loaded.transform(self.some()), strict=True):
            np.testing.assert_array_equal(getattr(one, self.content), getattr(two, self.content))

    def test_a_fit_that_was_cut_ends_in_the_same_bytes(self, tmp_path: Path) -> None:
        """So the same seed and key give the same bundle, with a break or without."""
        save_bundle(self.fitted(), tmp_path / "whole")
        with pytest.raises(Interrupted):
            self.fit(Recorder(stop_in=self.method, after=2), Journal(tmp_path / "work"))
        save_bundle(self.fit(journal=Journal(tmp_path / "work")), tmp_path / "resumed")
        assert below(tmp_path / "resumed") == below(tmp_path / "whole")

    def killed_and_resumed(self, folder: Path, data: Path, **more: Any) -> tuple[Path, Path]:
        """Fit the data whole, and again with a kill in the middle: two equal bundles."""
        (folder / "key").write_bytes(key_of(0))
        (folder / "key").chmod(0o600)
        request = FitRequest(
            data=data,
            output=folder / "bundle",
            suppress=self.suppress,
            preserve=("useful",),
            method=self.method,
            config=self.config,
            key=folder / "key",
            **more,
        )
        fit_to(request.model_copy(update={"output": folder / "whole"}))
        arguments = [str(TESTS), self.module, request.model_dump_json(), self.method]
        killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert (folder / "bundle.partial").exists()
        assert not (folder / "bundle").exists()
        said = Recorder()
        fit_to(request, said)
        assert "resuming from" in said.text
        assert below(folder / "bundle") == below(folder / "whole")
        return folder / "bundle", folder / "whole"

    def audited(self, data: Dataset, released: Any, before: np.ndarray, after: np.ndarray) -> None:
        """Features of the originals and of the release can be audited."""
        found = withhold.audit(
            before[released.original_rows],
            after,
            "secret",
            attributes=data.table.take(released.original_rows).select(["secret"]),
            same_order=True,
            quick=True,
        )
        assert 0 <= found.attributes["secret"].informed.accuracy <= 1
