"""A generated census: mixed columns, and planted proxies of `sex` whose joint strength is known.

Four columns depend on sex: `occupation` (given education), `marital_status` (given age),
`hours_per_week` (given sex alone) and `size_code`. Every other column is drawn from the columns
before it, without sex, so it cancels in the posterior, which `census_posterior` computes exactly:

    P(male | all other columns) is proportional to P(male) P(occupation | male, education)
        P(marital status | male, age) P(hours | male) P(size code | male).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import ndtr

from withhold.core.errors import UserError

FloatArray = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

SEXES = ("female", "male")
REGIONS = ("north", "north east", "east", "south east", "south", "south west", "west", "capital")
EDUCATIONS = ("none", "primary", "lower secondary", "upper secondary", "vocational", "bachelor",
              "master", "doctorate")  # fmt: skip
MARITAL = ("single", "married", "divorced", "widowed")
SIZE_CODES = ("XS", "S", "M", "L", "XL", "XXL")
# Weights of women and men in each occupation, and how much schooling draws people to it.
_OCCUPATIONS = {
    "nursing": (15, 1, 0.1), "primary teaching": (12, 3, 0.3), "office clerk": (14, 5, 0.0),
    "retail": (13, 8, -0.2), "cleaning": (10, 2, -0.4), "social work": (10, 2, 0.2),
    "construction": (1, 15, -0.4), "transport": (1, 13, -0.3), "engineering": (3, 14, 0.4),
    "information technology": (4, 12, 0.4), "farming": (3, 7, -0.3), "management": (7, 12, 0.3),
}  # fmt: skip
OCCUPATIONS = tuple(_OCCUPATIONS)
_MALE = 0.52
_HOURS = ((32.0, 8.0), (42.0, 7.0))  # mean and deviation of women and men, before rounding
_LEAST_HOURS, _MOST_HOURS = 1, 80
_SIZES = np.array([[20, 36, 28, 11, 4, 1], [1, 7, 26, 36, 21, 9]], np.float64)
_EDUCATION = np.array([3, 6, 15, 28, 18, 17, 10, 3], np.float64) / 100


def census(people: int = 5000, *, seed: int = 0) -> pa.Table:
    """A table with one row for each of `people`; the same seed gives the same table."""
    if people < 1:
        raise UserError(f"people must be at least 1, not {people}")
    rng = np.random.default_rng([0xCE45, seed])
    sex = (rng.random(people) < _MALE).astype(np.int64)
    age = 18 + np.floor(72 * rng.beta(1.6, 2.4, people)).astype(np.int64)
    education = _draw(np.tile(_EDUCATION, (people, 1)), rng)
    occupation = _draw(_occupation_shares()[sex, education], rng)
    marital = _draw(_marital_shares(age)[sex, np.arange(people)], rng)
    size = _draw((_SIZES / _SIZES.sum(axis=1, keepdims=True))[sex], rng)
    mean, deviation = np.array(_HOURS)[sex].T
    hours = np.rint(rng.normal(mean, deviation)).astype(np.int64)
    hours = np.clip(hours, _LEAST_HOURS, _MOST_HOURS)
    region = rng.choice(len(REGIONS), people, p=[0.1, 0.08, 0.1, 0.14, 0.13, 0.09, 0.12, 0.24])
    place = rng.integers(0, 100, people)
    # 100 areas: each region has its own 12 or 13, and a tenth of the people live elsewhere.
    area = np.where(rng.random(people) < 0.9, (place // 8) * 8 + region, place) % 100
    household = 1 + rng.poisson(np.where(marital == 1, 1.7, 0.5))
    wealth = 0.45 * (education - 3.5) + 0.05 * (hours - 37) + 0.02 * np.minimum(age - 40, 20)
    rich = rng.random(people) < _logistic(wealth - 1.3 + 0.9 * (marital == 1))
    gains = np.where(
        rng.random(people) < 0.04 + 0.12 * rich, np.rint(rng.lognormal(8, 1, people)), 0
    )
    home = rng.random(people) < _logistic(0.06 * (age - 45) + 0.8 * rich + 0.5 * (household > 1))
    commute = np.round(rng.gamma(2.5, np.where(region == 7, 16.0, 9.0)), 1)
    # Missing mostly where people work on the spot.
    at_home = np.isin(occupation, [OCCUPATIONS.index(n) for n in ("farming", "cleaning")])
    missing = rng.random(people) < np.where(at_home, 0.3, 0.05)
    days = np.floor(rng.beta(2.0, 1.2, people) * 5478).astype(np.int64)
    joined = np.datetime64("2010-01-01") + days.astype("timedelta64[D]")
    return pa.table(
        {
            "age": age,
            "sex": _names(SEXES, sex),
            "region": _names(REGIONS, region),
            "postcode_area": pa.array([f"P{a:02d}" for a in area.tolist()]),
            "education": _names(EDUCATIONS, education),
            "occupation": _names(OCCUPATIONS, occupation),
            "marital_status": _names(MARITAL, marital),
            "household_size": household,
            "hours_per_week": hours,
            "commute_minutes": pa.array(commute, mask=missing),
            "size_code": _names(SIZE_CODES, size),
            "capital_gain": gains.astype(np.int64),
            "owns_home": home,
            "joined": pa.array(joined.astype("datetime64[D]")),
            "income": _names(("<=50K", ">50K"), rich.astype(np.int64)),
        }
    )


def census_posterior(table: pa.Table) -> FloatArray:
    """P(male | every other column) of each row of a census: (n,)."""
    n = table.num_rows
    age = table["age"].to_numpy()
    education, occupation, marital, size = (
        _codes(table, name, values)
        for name, values in (
            ("education", EDUCATIONS),
            ("occupation", OCCUPATIONS),
            ("marital_status", MARITAL),
            ("size_code", SIZE_CODES),
        )
    )
    joint = np.array([[1 - _MALE], [_MALE]]) * np.ones(n)
    joint = joint * _occupation_shares()[:, education, occupation]
    joint = joint * _marital_shares(age)[:, np.arange(n), marital]
    joint = joint * (_SIZES / _SIZES.sum(axis=1, keepdims=True))[:, size]
    joint = joint * np.stack([_hours_share(table["hours_per_week"].to_numpy(), *h) for h in _HOURS])
    found: FloatArray = joint[1] / joint.sum(axis=0)
    return found


def census_bayes(people: int = 200_000, *, seed: int = 1) -> float:
    """The accuracy of the best guess of sex from all other columns: E max(p, 1 - p).

    A mean over `people` generated rows; its standard error is below 0.15 / sqrt(people).
    """
    p = census_posterior(census(people, seed=seed))
    return float(np.maximum(p, 1 - p).mean())


def _occupation_shares() -> FloatArray:
    """P(occupation | sex, education): (2, 8, 12)."""
    table = np.array(list(_OCCUPATIONS.values()))
    drawn = np.exp(table[:, 2] * (np.arange(len(EDUCATIONS))[:, None] - 3.5))
    weights = table[:, :2].T[:, None, :] * drawn
    shares: FloatArray = weights / weights.sum(axis=2, keepdims=True)
    return shares


def _marital_shares(age: Codes) -> FloatArray:
    """P(marital status | sex, age), (2, n, 4): women marry earlier and are widowed more often."""
    found = []
    for early, alone in ((26.0, 0.12), (30.0, 0.03)):
        ever = _logistic((age - early) / 4.0)
        widowed = alone * _logistic((age - 62) / 6.0) * 4
        divorced = 0.12 + alone
        apart = np.minimum(widowed + divorced, 0.9)
        widowed = apart - divorced
        found.append(
            np.stack([1 - ever, ever * (1 - apart), ever * divorced, ever * widowed], axis=1)
        )
    return np.stack(found)


def _hours_share(hours: Codes, mean: float, deviation: float) -> FloatArray:
    """P(hours), a rounded normal whose ends are collected at the least and the most."""
    above = np.where(hours >= _MOST_HOURS, np.inf, hours + 0.5)
    below = np.where(hours <= _LEAST_HOURS, -np.inf, hours - 0.5)
    # Of the same sign as the tail, so that nothing cancels far from the mean.
    side = np.where(hours > mean, -1.0, 1.0)
    ends = ndtr(side * (above - mean) / deviation) - ndtr(side * (below - mean) / deviation)
    found: FloatArray = np.abs(ends)
    return found


def _draw(shares: FloatArray, rng: np.random.Generator) -> Codes:
    """One category of each row of shares (n, k), which sum to one: (n,)."""
    drawn = (rng.random(len(shares))[:, None] > shares.cumsum(axis=1)).sum(axis=1)
    found: Codes = np.minimum(drawn, shares.shape[1] - 1)
    return found


def _logistic(x: npt.NDArray[np.floating]) -> FloatArray:
    found: FloatArray = 1 / (1 + np.exp(-x))
    return found


def _names(values: tuple[str, ...], codes: Codes) -> pa.Array:
    return pa.array(np.array(values, object)[codes], pa.string())


def _codes(table: pa.Table, name: str, values: tuple[str, ...]) -> Codes:
    place = {value: i for i, value in enumerate(values)}
    return np.array([place[v] for v in table[name].to_pylist()], np.int64)
