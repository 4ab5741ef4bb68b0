"""Videos: counted, cut into windows, decoded whole (PyAV).

Each file is read in one pass by one thread. Only frames of windows become pixels, and a window is
released once it is full. Files are opened as bytes and only by demuxers of single files, so that a
playlist with a video's name cannot open anything else.

What is read is the sequence of frames, turned as a player shows them. Sound is ignored, and so is a
cover picture. If the frame rate varies, frames keep their numbers (labels of frames need that) and
the clip has the mean rate. A file with a frame that cannot be decoded is bad as a whole: decoders
fill such frames with what was there before, and nobody can say what they should show.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from withhold.core.safe_read import open_regular
from withhold.media.optional import needed
from withhold.media.windows import Window
from withhold.records.samples import BadMedia, ByteArray, Clip, Picture

MOST_PIXELS = 4096 * 2304  # of a frame; a window of 16 then takes 450 MB
_MOST_BYTES = 2_000_000_000  # of a whole video in memory
DEMUXERS = "mov,avi,matroska,mpeg,mpegts,mpegvideo,flv,asf,ogg,gif"


def count_frames(content: Path | bytes | Clip, *, most_frames: int = 100_000) -> tuple[int, float]:
    """How many frames a video has, and how many a second.

    The index of an MP4 or MOV lists every frame and the place of its bytes; it is trusted if all
    bytes are there. Other headers are wrong or empty (packed B-frames, a truncated file), so their
    frames are counted by decoding them.
    """
    if isinstance(content, Clip):
        return len(content.frames), content.rate
    with opened_clip(content, MOST_PIXELS) as (file, container, stream):
        rate = _rate(stream)
        entries = stream.index_entries
        # A fragmented file lists only its first fragment and claims 0 frames.
        if container.format.name.startswith("mov") and 0 < stream.frames == len(entries):
            count = sum(not entry.is_discard for entry in entries)
            size = file.seek(0, io.SEEK_END)
            if max(entry.pos + entry.size for entry in entries) > size:
                raise BadMedia("truncated: the file ends before its last frame")
        else:
            count = sum(1 for _ in _decoded(container, stream, MOST_PIXELS, most_frames))
            _check_whole(count, stream)
    if count > most_frames:
        raise BadMedia(f"more than {most_frames} frames")
    if count == 0:
        raise BadMedia("no frame can be decoded")
    return count, rate


def each_window(
    content: Path | bytes | Clip | Picture,
    windows: Sequence[Window],
    *,
    most_pixels: int = MOST_PIXELS,
) -> Iterator[Clip]:
    """The clips of `windows`, which must be ordered by their last frames, in one pass.

    Only unfinished windows are in memory. A picture gives equal frames. The rate of a clip is that
    of its video divided by the window's step.
    """
    if isinstance(content, Picture):
        for window in windows:
            yield Clip(np.repeat(content.pixels[None], window.frames, axis=0))
    elif isinstance(content, Clip):
        for window in windows:
            if window.last >= len(content.frames):
                raise _too_few(len(content.frames), window)
            yield Clip(content.frames[np.asarray(window.numbers)], content.rate / window.step)
    else:
        yield from _streamed(content, windows, most_pixels)


def decode_clip(
    content: Path | bytes | Clip, *, most_frames: int = 2_000, most_pixels: int = MOST_PIXELS
) -> Clip:
    """A whole video."""
    if isinstance(content, Clip):
        return content
    with opened_clip(content, most_pixels) as (_, container, stream):
        frames: list[ByteArray] = []
        times: list[float] = []
        for frame in _decoded(container, stream, most_pixels, most_frames):
            frames.append(_pixels(frame))
            times.append(frame.time or 0.0)
            if frames[0].nbytes * len(frames) > _MOST_BYTES:
                raise BadMedia(f"more than {_MOST_BYTES // 10**9} GB when decoded")
        _check_whole(len(frames), stream)
        rate = _mean_rate(times, stream)
    if not frames:
        raise BadMedia("no frame can be decoded")
    # Like np.stack, but frames are released as they are copied: a video is not in memory twice.
    whole = np.empty((len(frames), *frames[0].shape), np.uint8)
    for i in reversed(range(len(frames))):
        whole[i] = frames.pop()
    return Clip(whole, rate)


def each_frame(
    content: Path | bytes | Clip, *, most_frames: int = 100_000, most_pixels: int = MOST_PIXELS
) -> Iterator[ByteArray]:
    """The frames (h, w, 3) of a video, one at a time, so that a long one needs little memory."""
    if isinstance(content, Clip):
        yield from content.frames
        return
    with opened_clip(content, most_pixels) as (_, container, stream):
        count = 0
        for frame in _decoded(container, stream, most_pixels, most_frames):
            yield _pixels(frame)
            count += 1
        if count < 0.9 * stream.frames:  # some decoders ignore a truncated end
            raise BadMedia(f"truncated: {count} of {stream.frames} frames can be decoded")
    if not count:
        raise BadMedia("no frame can be decoded")


def _streamed(content: Path | bytes, windows: Sequence[Window], most_pixels: int) -> Iterator[Clip]:
    if not windows:
        return
    with opened_clip(content, most_pixels) as (_, container, stream):
        rate = _rate(stream)
        kept: dict[int, ByteArray] = {}
        waiting = list(windows)
        number = -1
        for number, frame in enumerate(_decoded(container, stream, most_pixels, None)):
            if any(number in window.numbers for window in waiting):
                kept[number] = _pixels(frame)
            while waiting and waiting[0].last <= number:
                done = waiting.pop(0)
                yield Clip(np.stack([kept[i] for i in done.numbers]), rate / done.step)
                needed = {i for window in waiting for i in window.numbers}
                kept = {i: pixels for i, pixels in kept.items() if i in needed}
            if not waiting:
                return
        raise _too_few(number + 1, waiting[0])


def _too_few(count: int, window: Window) -> BadMedia:
    return BadMedia(
        f"{count} frames can be decoded, frame {window.last} is needed (the first is 0)"
    )


@contextmanager
def opened_clip(content: Path | bytes, most_pixels: int) -> Iterator[tuple[BinaryIO, Any, Any]]:
    """The file, its container and its first video stream; failures inside become BadMedia."""
    av = needed("av", by="video")
    try:
        with io.BytesIO(content) if isinstance(content, bytes) else open_regular(content) as file:
            if not file.read(1):
                raise BadMedia("the file is empty")
            file.seek(0)
            # Titles and other tags are ignored, and may be in any encoding.
            with av.open(
                file, options={"format_whitelist": DEMUXERS}, metadata_errors="replace"
            ) as container:
                stream = _moving(container)
                context = stream.codec_context
                if context is None:
                    raise BadMedia("its codec is not known")
                _check_size(context.width, context.height, most_pixels)
                # Files are decoded side by side, so one thread each is fastest.
                context.thread_count = 1
                yield file, container, stream
    except av.FFmpegError as error:
        raise BadMedia(f"it cannot be read as video: {error.strerror or error}") from error
    except OSError as error:
        raise BadMedia(f"the file cannot be read: {error.strerror or error}") from error


def _decoded(
    container: Any, stream: Any, most_pixels: int, most_frames: int | None
) -> Iterator[Any]:
    """Frames in display order; BadMedia if one is broken or of another size, or the end is missing.

    A reader that needs no more frames stops before the end, and is not told that it is missing.
    """
    import av

    number, size, last = 0, None, 0.0
    frames = container.decode(stream)
    while True:
        try:
            frame = next(frames, None)
        except av.FFmpegError as error:
            raise BadMedia(f"broken after {number} frames: {error.strerror or error}") from error
        if frame is None:
            _check_end(container, stream, last)
            return
        if frame.is_corrupt:
            raise BadMedia(f"frame {number} cannot be decoded (the first is 0)")
        last = max(last, frame.time or 0.0)
        if number == most_frames:
            raise BadMedia(f"more than {most_frames} frames")
        size = size or (frame.width, frame.height)
        if (frame.width, frame.height) != size:
            raise BadMedia(f"frame {number} has another size than those before")
        _check_size(frame.width, frame.height, most_pixels)
        yield frame
        number += 1


def _moving(container: Any) -> Any:
    """The first video stream that is no cover picture."""
    from av.stream import Disposition

    for stream in container.streams.video:
        if not stream.disposition & Disposition.attached_pic:
            return stream
    raise BadMedia("there is no video in it")


def _check_whole(count: int, stream: Any) -> None:
    """Refuse a file with fewer frames than its header says; some decoders ignore a missing end.

    A header may be wrong by a frame or two; that of a truncated file is wrong by far more.
    """
    if count < 0.9 * stream.frames:
        raise BadMedia(f"truncated: {count} of {stream.frames} frames can be decoded")


def _check_end(container: Any, stream: Any, last: float) -> None:
    """Refuse a file whose last frame, at `last` seconds, is long before the end that it states.

    Some containers (Matroska, WebM) state how long they are and not how many frames they have.
    Without a length of the stream, that of the file counts only if there is no other stream.
    """
    length = 0.0
    if stream.duration:
        length = float(stream.duration * stream.time_base)
    elif container.duration and len(container.streams) == 1:
        length = container.duration / 1e6
    start = float(stream.start_time * stream.time_base) if stream.start_time else 0.0
    if last - start + 2 / _rate(stream) < 0.9 * length:
        raise BadMedia(f"truncated: it ends after {last - start:.1f} of {length:.1f} seconds")


def _check_size(width: int, height: int, most_pixels: int) -> None:
    if width * height > most_pixels:
        raise BadMedia(f"frames of {width}x{height} are larger than {most_pixels} pixels")


def _pixels(frame: Any) -> ByteArray:
    """RGB (h, w, 3), rotated as a player would show it."""
    pixels: ByteArray = frame.to_ndarray(format="rgb24")
    # Quarter turns, anticlockwise; other angles would need interpolation and are ignored.
    turns, rest = divmod(frame.rotation, 90)
    return np.ascontiguousarray(np.rot90(pixels, turns % 4 if rest == 0 else 0))


def _mean_rate(times: list[float], stream: Any) -> float:
    """Frames a second: the stated rate, unless the times of the frames differ much from it."""
    stated = _rate(stream)
    length = max(times, default=0.0) - min(times, default=0.0)
    measured = (len(times) - 1) / length if length > 0 else stated
    return stated if abs(measured / stated - 1) < 0.05 else measured


def _rate(stream: Any) -> float:
    return float(stream.average_rate or stream.guessed_rate or 25)
