"""Threads are borrowed and given back; devices can be named."""

from __future__ import annotations

import pytest
import torch

from withhold.learn.nets.device import pick_device, threads, threads_for


def test_threads_gives_the_callers_setting_back() -> None:
    before = torch.get_num_threads()
    with threads(before + 1):
        assert torch.get_num_threads() == before + 1
        with threads(1):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def test_threads_gives_it_back_after_an_error() -> None:
    before = torch.get_num_threads()
    with pytest.raises(RuntimeError, match="inside"), threads(before + 1):
        raise RuntimeError("inside")
    assert torch.get_num_threads() == before


def test_small_work_gets_one_thread_and_large_work_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2}, raising=False)
    assert threads_for(1e3) == 1
    assert threads_for(1e9) == 3


def test_the_environment_names_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WITHHOLD_DEVICE", "meta")
    assert pick_device() == torch.device("meta")
    monkeypatch.delenv("WITHHOLD_DEVICE")
    assert pick_device().type in ("cpu", "cuda", "mps")
