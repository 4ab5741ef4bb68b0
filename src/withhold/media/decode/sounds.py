"""Sound files to mono samples and back: decode, change the rate, encode like the original."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from withhold.core.errors import UserError
from withhold.core.safe_read import check_regular
from withhold.media.optional import needed
from withhold.records.samples import BadMedia, FloatArray, Sound

# Samples per channel that are decoded or encoded at once. This bounds the memory of a file with
# many channels, and the Vorbis encoder overruns its stack on a long sound in one piece.
_BLOCK = 1 << 16
_SLOWEST, _FASTEST = 1_000, 768_000  # samples a second; a header that says otherwise is damaged
# An hour at 48,000 a second. Silence packs well: an hour at 768,000 is 11 GB from a few megabytes.
_MOST_SAMPLES = 3600 * 48_000
_UNKNOWN = 1 << 62  # frames, where a header does not say how many there are
_FORMATS = {
    ".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG", ".oga": "OGG", ".opus": "OGG", ".mp3": "MP3",
    ".aif": "AIFF", ".aiff": "AIFF", ".aifc": "AIFF", ".au": "AU", ".snd": "AU", ".w64": "W64",
    ".caf": "CAF",
}  # fmt: skip
_FLOATS = ("FLOAT", "DOUBLE")
_LOUDEST = 1e6  # a float file may hold anything; more than this overflows a power spectrum
# libsndfile's note on a part of a file that is shorter than its header says.
_SHORT = re.compile(r"^\s*(?:data|SSND|Data Size|riff)\s*: (\d+) \(should be (\d+)\)", re.M)


def decode_sound(content: Path | bytes | Sound, *, most_seconds: float = 3600) -> Sound:
    """Mono samples at the rate of the file; channels are averaged.

    The header is read first, and a sound longer than `most_seconds` is refused before it is
    decoded. Other unusable files (empty, truncated, not sound, NaN) raise BadMedia too.
    """
    if isinstance(content, Sound):
        return _checked(content.samples, content.rate, most_seconds)
    sf = needed("soundfile", by="sound")
    source, size = sound_source(content)
    if size == 0:
        raise BadMedia("the file is empty")
    try:
        with sf.SoundFile(source) as file:
            rate, stated = int(file.samplerate), int(file.frames)
            _check_rate(rate)
            if stated < _UNKNOWN:
                _check_length(stated, rate, most_seconds)
            samples = _mono(file, most_seconds)
            _check_whole(file, content, stated, len(samples))
    except sf.LibsndfileError as error:
        raise BadMedia(f"not sound that can be decoded ({_words(error)})") from error
    return _checked(samples, rate, most_seconds)


def resampled(sound: Sound, rate: int) -> Sound:
    """The same sound with `rate` samples a second (band-limited, soxr HQ)."""
    if rate == sound.rate:
        return sound
    soxr = needed("soxr", by="sound")
    samples = soxr.resample(sound.samples, sound.rate, rate, quality="HQ")
    if len(samples) == 0:
        raise BadMedia(f"the sound is too short for {rate} samples a second")
    return Sound(np.ascontiguousarray(samples, np.float32), rate)


def encode_sound(sound: Sound, like: Path | bytes | None, suffix: str) -> bytes:
    """A file of the format that `suffix` names, with the coding of `like` if the format has it.

    Only the coding is taken from `like`: no tag, no cover, no time of recording. (An Ogg stream
    gets a new random serial number at every call; other formats give equal bytes.)
    """
    sf = needed("soundfile", by="sound")
    form = _FORMATS.get(suffix.lower())
    if form is None:
        raise UserError(f"sound cannot be written as '{suffix}' (it can as {', '.join(_FORMATS)})")
    coding = _coding(like, sf) or ("OPUS" if suffix.lower() == ".opus" else "")
    if coding not in sf.available_subtypes(form):
        coding = sf.default_subtype(form)
    samples = sound.samples
    if coding not in _FLOATS:
        samples = np.clip(samples, -1, 1)
    out = io.BytesIO()
    try:
        with sf.SoundFile(out, "w", sound.rate, 1, coding, format=form) as file:
            for start in range(0, len(samples), _BLOCK):
                file.write(samples[start : start + _BLOCK])
    except sf.LibsndfileError as error:
        raise UserError(
            f"sound of {sound.rate} samples a second cannot be written as {suffix} ({coding}):"
            f" {_words(error)}"
        ) from error
    return _without_time(out.getvalue()) if coding in _FLOATS else out.getvalue()


def _mono(file: Any, most_seconds: float) -> FloatArray:
    parts, read = [], 0
    while len(block := file.read(_BLOCK, dtype="float32", always_2d=True)):
        read += len(block)
        _check_length(read, file.samplerate, most_seconds)
        parts.append(block[:, 0] if block.shape[1] == 1 else block.mean(axis=1, dtype=np.float32))
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _checked(samples: FloatArray, rate: int, most_seconds: float) -> Sound:
    if samples.ndim != 1:
        raise BadMedia(f"sound is one row of samples, not an array of shape {samples.shape}")
    if len(samples) == 0:
        raise BadMedia("the sound has no samples")
    _check_rate(rate)
    _check_length(len(samples), rate, most_seconds)
    if not np.isfinite(samples).all():
        raise BadMedia("the sound holds NaN or infinite samples")
    if np.abs(samples).max() > _LOUDEST:
        raise BadMedia("the samples are far outside -1 to 1")
    return Sound(np.ascontiguousarray(samples, np.float32), rate)


def _check_rate(rate: int) -> None:
    if not _SLOWEST <= rate <= _FASTEST:
        raise BadMedia(f"{rate} samples a second is no rate of sound")


def _check_length(frames: int, rate: int, most_seconds: float) -> None:
    if frames > most_seconds * rate:
        raise BadMedia(f"the sound is longer than {most_seconds:g} seconds")
    if frames > _MOST_SAMPLES:
        raise BadMedia(f"the sound has more than {_MOST_SAMPLES:,} samples")


def _check_whole(file: Any, content: Path | bytes, stated: int, read: int) -> None:
    """Refuse a file that ends before its sound does."""
    # The length of an MP3 without an index is estimated from its size.
    slack = max(4608, stated // 100) if "MPEG" in file.subtype or file.format == "MP3" else 0
    short = stated < _UNKNOWN and read < stated - slack
    for said, there in _SHORT.findall(file.extra_info):
        # A recorder that writes to a pipe cannot go back, and leaves the largest possible size.
        short |= int(there) + 8 < int(said) < 0x7FFF0000
    if short or (file.format == "OGG" and not _ogg_ends(content)):
        raise BadMedia("the file is cut off before its sound ends")


def _ogg_ends(content: Path | bytes) -> bool:
    """Whether the last page of an Ogg file is complete and marked as the last."""
    longest = 65_307
    if isinstance(content, bytes):
        tail = content[-longest:]
    else:
        with content.open("rb") as file:
            file.seek(max(content.stat().st_size - longest, 0))
            tail = file.read()
    page = tail[max(tail.rfind(b"OggS"), 0) :]
    if len(page) < 27:
        return False
    header = 27 + page[26]
    return bool(page[5] & 4) and len(page) >= header + sum(page[27:header])


def sound_source(content: Path | bytes) -> tuple[Any, int]:
    """The argument for soundfile, and the size in bytes."""
    if isinstance(content, bytes):
        return io.BytesIO(content), len(content)
    try:
        # Opening a pipe would block for ever, and libsndfile reports only "System error".
        found = check_regular(content)
    except OSError as error:
        raise BadMedia(f"the file cannot be read: {error.strerror or error}") from error
    return str(content), found.st_size


def _coding(like: Path | bytes | None, sf: Any) -> str:
    if like is None:
        return ""
    try:
        return str(sf.info(io.BytesIO(like) if isinstance(like, bytes) else str(like)).subtype)
    except sf.LibsndfileError:
        return ""


def _without_time(data: bytes) -> bytes:
    """A file of floats stores its peak and the time of writing; the time is set to zero."""
    at = data.find(b"PEAK", 0, 256)
    return data if at < 0 else data[: at + 12] + bytes(4) + data[at + 16 :]


def _words(error: Any) -> str:
    text = str(error.error_string).removeprefix("Error : ").strip().rstrip(".")
    # What libsndfile says if its MP3 decoder fails on arbitrary bytes.
    return "Format not recognised" if "possibly a pipe" in text else text
