"""A world of synthetic voices with the attributes speaker, gender, accent, digit and take.

Each attribute has known effects: gender changes the pitch and the length of the vocal tract, accent
changes vowels and rhythm, and a speaker is one random draw of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from withhold.core.errors import UserError
from withhold.datasets.worlds.synthesiser import FOURTH, PHONES, WORDS, Array, Targets, render

GENDERS = ("female", "male")
NEUTRAL_TRACT = 17.5  # cm, the length of the tract to which the phones refer


@dataclass(frozen=True)
class Voices:
    """Clips and their attributes, one row of `attributes` per clip."""

    waveforms: list[npt.NDArray[np.float32]]  # mono in -1..1, each of its own length
    rate: int  # samples a second
    attributes: pa.Table  # speaker, digit, gender, accent, take, split


def voices(*, speakers: int = 24, takes: int = 20, rate: int = 8000, seed: int = 0) -> Voices:
    """``speakers`` x 10 digits x ``takes`` clips of about half a second, the same for a seed.

    Gender and accent are crossed, and balanced as far as the number of speakers permits. Each
    speaker says each digit in every split: the first takes are train, the next val, the last
    test (65, 15 and 20 %). A clip does not depend on the number of speakers and takes.
    """
    if speakers < 1:
        raise UserError(f"speakers must be at least 1, not {speakers}")
    if takes < 3:
        raise UserError(f"takes must be at least 3 (train, val and test), not {takes}")
    if not 8000 <= rate <= 48000:
        raise UserError(f"rate must be in 8000..48000 samples a second, not {rate}")
    if seed < 0:
        raise UserError(f"seed must not be negative, not {seed}")
    people = cast(speakers, seed)
    splits = _splits(takes)
    waveforms: list[npt.NDArray[np.float32]] = []
    rows: list[tuple[str, str, str, str, int, str]] = []
    for number, person in enumerate(people):
        for digit in WORDS:
            # the tag 1 comes first, since a seed sequence treats [a, b] and [a, b, 0] as equal
            keys = [(1, number, int(digit), take, seed) for take in range(takes)]
            waveforms += say(person, digit, [np.random.default_rng(key) for key in keys], rate)
            who = (f"s{number:02d}", digit, person.gender, person.accent)
            rows += [(*who, take, splits[take]) for take in range(takes)]
    names = ("speaker", "digit", "gender", "accent", "take", "split")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return Voices(waveforms=waveforms, rate=rate, attributes=pa.table(columns))


@dataclass(frozen=True)
class Accent:
    """Pronunciation of a region: factors on F1 to F3, and rhythm."""

    setting: tuple[float, float, float]  # for every phone: the posture of lips and jaw
    shifts: dict[str, tuple[float, float, float]]  # for some phones in addition
    vowels: float  # factor on the length of vowels
    last: float  # factor on the length of the last segment
    fall: float  # how far the pitch falls over a word, as a share


# fmt: off
ACCENTS: dict[str, Accent] = {
    "north": Accent((1.00, 0.96, 0.97), vowels=0.95, last=1.0, fall=0.04, shifts={
        "AH": (0.78, 0.92, 1.0), "OW": (1.05, 0.88, 1.0), "AA": (0.92, 1.18, 1.0),
        "IY": (1.18, 0.94, 1.0), "EH": (1.14, 0.96, 1.0), "UW": (1.10, 0.88, 1.0),
    }),
    "south": Accent((1.05, 1.00, 1.02), vowels=1.25, last=1.1, fall=0.24, shifts={
        "R": (1.10, 0.95, 1.35),  # hardly an r at all
        "AA": (1.02, 0.86, 1.0), "OW": (0.92, 1.25, 1.0), "EH": (0.84, 1.08, 1.0),
        "IH": (1.16, 0.92, 1.0), "AO": (0.84, 0.92, 1.0),
    }),
    "east": Accent((0.96, 1.04, 1.00), vowels=0.82, last=1.35, fall=0.14, shifts={
        "IH": (0.82, 1.12, 1.0), "UW": (1.00, 1.35, 1.0), "AO": (1.20, 1.18, 1.0),
        "AH": (1.12, 1.14, 1.0), "AX": (0.85, 1.15, 1.0), "R": (1.00, 1.08, 0.94),
    }),
}
# fmt: on


@dataclass(frozen=True)
class Person:
    """A speaker's body and habits."""

    gender: str
    accent: str
    pitch: float  # Hz, mean
    tract: float  # cm; formants scale with its inverse
    breath: float  # share of the source's power that is aspiration
    tilt: float  # the glottal pole; closer to 1 is darker
    tempo: float  # factor on every duration
    fall: float  # added to the accent's fall of pitch
    timbre: Array  # factor on F1 to F4 of every phone
    habits: dict[str, Array]  # and of each phone


def cast(speakers: int, seed: int) -> list[Person]:
    """The people: one of every two is a woman; every six have each accent with each gender.

    They are drawn six at a time, so that the first speakers do not depend on their number.
    """
    cells: list[tuple[str, str]] = []
    while len(cells) < speakers:
        rng = np.random.default_rng((2, len(cells), seed))
        # accents are shuffled for each gender; otherwise a pair would always share its accent
        women, men = (rng.permutation(list(ACCENTS)).tolist() for _ in GENDERS)
        for pair in zip(women, men, strict=True):
            order = rng.permutation(2).tolist()
            cells += [(GENDERS[which], pair[which]) for which in order]
    dealt = enumerate(cells[:speakers])
    return [_person(gender, accent, number, seed) for number, (gender, accent) in dealt]


def _person(gender: str, accent: str, number: int, seed: int) -> Person:
    rng = np.random.default_rng((0, number, seed))
    female = gender == "female"
    tract = rng.normal(15.0 if female else 17.4, 0.55)
    return Person(
        gender=gender,
        accent=accent,
        pitch=(205.0 if female else 115.0) * np.exp(rng.normal(0, 0.10)),
        tract=float(np.clip(tract, *((13.6, 16.1) if female else (16.3, 18.8)))),
        breath=float(rng.uniform(0.06, 0.30) if female else rng.uniform(0.02, 0.24)),
        tilt=float(rng.uniform(0.78, 0.98)),
        tempo=float(np.exp(rng.normal(0, 0.07))),
        fall=float(rng.normal(0, 0.05)),
        timbre=np.exp(rng.normal(0, [0.03, 0.04, 0.05, 0.06])),
        habits={name: np.exp(rng.normal(0, 0.03, size=4)) for name in PHONES},
    )


def say(
    person: Person, digit: str, takes: list[np.random.Generator], rate: int
) -> list[npt.NDArray[np.float32]]:
    """One person says one digit, once per generator, which makes all variation of that take."""
    names = WORDS[digit]
    phones = [PHONES[name] for name in names]
    accent = ACCENTS[person.accent]
    stress = np.array([accent.vowels if phone.vowel else 1.0 for phone in phones])
    stress[-1] *= accent.last
    plain = np.array([(*phone.formants, FOURTH) for phone in phones])
    shifts = np.array([(*accent.shifts.get(name, (1, 1, 1)), 1) for name in names])
    region = shifts * (*accent.setting, 1)
    habits = np.array([person.habits[name] for name in names])
    formants = plain * region * habits * person.timbre * (NEUTRAL_TRACT / person.tract)
    ms = np.array([phone.ms for phone in phones]) * stress * person.tempo
    melody = 1 + (accent.fall + person.fall) * np.linspace(0.5, -0.5, len(phones))

    many, stretches = len(takes), len(phones)
    lead = np.array([[rng.uniform(0.02, 0.08), rng.uniform(0.03, 0.08)] for rng in takes])
    tempo = np.exp([rng.normal(0, 0.06, 1) + rng.normal(0, 0.06, stretches) for rng in takes])
    wobble = np.exp([rng.normal(0, 0.015, (stretches, 4)) for rng in takes])
    pitch = np.exp([rng.normal(0, 0.03, 1) + rng.normal(0, 0.015, stretches) for rng in takes])
    force = np.exp([rng.normal(0, 0.25, (2, stretches)) for rng in takes])

    def rested(inner: Array, outer: float | None = None) -> Array:
        """Add a rest before and after, with the value `outer` or that of the neighbour."""
        first = inner[:, :1] if outer is None else np.full_like(inner[:, :1], outer)
        last = inner[:, -1:] if outer is None else np.full_like(inner[:, :1], outer)
        return np.concatenate([first, inner, last], axis=1)

    def each(name: str) -> Array:
        return np.tile([float(getattr(phone, name)) for phone in phones], (many, 1))

    targets = Targets(
        seconds=np.concatenate([lead[:, :1], tempo * ms / 1000, lead[:, 1:]], axis=1),
        formants=rested(formants * wobble),
        pitch=rested(person.pitch * melody * pitch),
        voice=rested(each("voice") * force[:, 0], 0.0),
        noise=rested(each("noise") * force[:, 1], 0.0),
        centre=rested(each("centre") * (NEUTRAL_TRACT / person.tract) ** 0.5),
        width=rested(each("width")),
    )
    white = [
        rng.standard_normal(length)
        for rng, length in zip(takes, targets.lengths(rate), strict=True)
    ]
    spoken = render(targets, white, breath=person.breath, tilt=person.tilt, rate=rate)
    return [_record(clean, rng) for clean, rng in zip(spoken, takes, strict=True)]


def _record(clean: Array, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """A recording of the clip: 24 to 42 dB above the noise of the room, peak at -14 to -1 dB."""
    room = rng.standard_normal(len(clean))
    room[1:] += rng.uniform(0, 0.9) * room[:-1]
    ratio = 10 ** (-rng.uniform(24, 42) / 20)
    heard = clean + ratio * room * (np.sqrt(np.mean(clean**2)) / np.sqrt(np.mean(room**2)))
    peak = 10 ** (-rng.uniform(1, 14) / 20)
    clip: npt.NDArray[np.float32] = (heard * (peak / np.abs(heard).max())).astype(np.float32)
    return clip


def _splits(takes: int) -> list[str]:
    """The split of each take; with three takes or more, every split has at least one."""
    val, test = max(1, round(0.15 * takes)), max(1, round(0.20 * takes))
    return ["train"] * (takes - val - test) + ["val"] * val + ["test"] * test
