"""Clips to video files, without sound and without metadata."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import Any

import numpy as np

from withhold.media.optional import needed
from withhold.records.samples import BadMedia, Clip

# x264's assembly gives other bytes for the same frames with where they lie in memory (a test shows
# it); without it, encoding takes about twice as long.
_H264 = ("libx264", {"crf": "18", "x264-params": "no-asm=1"})
_MPEG4 = ("mpeg4", {"qmin": "2", "qmax": "4"})
_VP8 = ("libvpx", {"crf": "6", "b": "8M", "deadline": "good", "cpu-used": "4"})
# suffix: the library's name of the container, the codec and its settings
_WRITTEN = {
    ".mp4": ("mp4", *_H264),
    ".m4v": ("mp4", *_H264),
    ".mov": ("mov", *_H264),
    ".mkv": ("matroska", *_H264),
    ".avi": ("avi", *_MPEG4),
    ".webm": ("webm", *_VP8),
}


def encode_clip(clip: Clip, suffix: str) -> bytes:
    """The bytes of a video file; the same clip gives the same bytes.

    H.264 (crf 18) in .mp4, .m4v, .mov and .mkv, MPEG-4 part 2 in .avi, VP8 in .webm. Colour is
    kept at half the resolution (yuv420p), which needs even sides. H.264 of an odd size is written
    at full colour resolution (yuv444p) instead, so that no pixel is added or lost.
    """
    av = needed("av", by="video")
    if suffix.lower() not in _WRITTEN:
        raise BadMedia(f"video is not written as '{suffix}', only as {', '.join(_WRITTEN)}")
    if clip.frames.size == 0:
        raise BadMedia("a clip without frames cannot be written")
    container_name, codec, settings = _WRITTEN[suffix.lower()]
    height, width = clip.frames.shape[1:3]
    odd = codec == "libx264" and (height % 2 or width % 2)
    out = io.BytesIO()
    try:
        # bitexact: neither the time nor the library's version goes into the file.
        with av.open(out, "w", format=container_name, options={"fflags": "+bitexact"}) as container:
            # A rate of 0, which a very slow one would be rounded to, means 24.
            rate = max(Fraction(clip.rate).limit_denominator(1001), Fraction(1, 1001))
            stream: Any = container.add_stream(codec, rate=rate)
            stream.width, stream.height = width, height
            stream.pix_fmt = "yuv444p" if odd else "yuv420p"
            stream.options = settings
            stream.codec_context.thread_count = 1  # otherwise the bytes depend on the machine
            for pixels in clip.frames:
                frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
                # Faster conversions differ in the last bit with where the pixels lie in memory.
                frame = frame.reformat(format=stream.pix_fmt, interpolation=_exact())
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
    except av.FFmpegError as error:
        raise BadMedia(f"it cannot be written as video: {error.strerror or error}") from error
    return out.getvalue()


def _exact() -> Any:
    """How colours are converted: to the same bytes on every machine."""
    from av.video.reformatter import Interpolation as How

    return How.BICUBIC | How.ACCURATE_RND | How.BITEXACT
