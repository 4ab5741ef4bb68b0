"""Every registered method keeps the contract."""

from __future__ import annotations

from typing import Any

from contracts.method_contract import MethodContract
from support import TINY
from withhold.methods import method_names

# Settings that make a slow method quick; a method that is not here runs with its own.
QUICK: dict[str, dict[str, Any]] = {
    "mass": TINY,
    "mass-it": {
        "hidden": [8], "critic": [8, 4], "epochs": 2, "batch": 32,
        "attribute_model": TINY["attribute_model"],
    },
    "pass": {"candidates": 20, "hidden": [8], "embedding": 6, "epochs": 2, "batch": 32},
    "random-substitute": {"candidates": 20},
}  # fmt: skip


def _contract(name: str) -> type[MethodContract]:
    body = {"method": name, "config": QUICK.get(name, {}), "__module__": __name__}
    return type(f"Test{name.title().replace('-', '')}", (MethodContract,), body)


# One class a method, so that a failure names it: TestMass::test_…
globals().update({cls.__name__: cls for cls in map(_contract, method_names())})
