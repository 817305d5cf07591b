"""The process that decodes one recording and listens to it: `python -I -m picoclawd.speech.worker < recording`.

It writes lines of JSON, each a list: `["at", seconds]`, `["text", words]`, and at the end one of `["end", cut]`,
`["bad"]` for a recording that does not decode and `["missing", library]`.
"""

import json
import os
import resource
import sys
from collections.abc import Iterator
from typing import Any

HEARD_MAX_S = 900  # of a recording: a draft of more is of no use to anybody
_RATE = 16_000  # samples a second that the model knows
_SAMPLE_BYTES = 2
_TOLD_EVERY_S = 5

_LIMITS = {
    resource.RLIMIT_AS: 1024 * 1024 * 1024,  # the model and its dictionary take 260 MB
    resource.RLIMIT_CPU: 900,
    resource.RLIMIT_FSIZE: 0,
    resource.RLIMIT_NOFILE: 32,
    resource.RLIMIT_CORE: 0,
}


def main() -> None:
    """Bound this process, before anything is imported that reads the recording; then listen."""
    for what, most in _LIMITS.items():
        resource.setrlimit(what, (most, most))
    try:
        import miniaudio
        import pocketsphinx
    except ImportError as error:
        _say("missing", error.name or "pocketsphinx")
        return
    # Both print what they please to stderr; it is nobody's.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        pieces = miniaudio.stream_file("/dev/fd/0", nchannels=1, sample_rate=_RATE)
        _listen(pocketsphinx, _frames(pieces, pocketsphinx.Endpointer().frame_bytes))
    except (miniaudio.MiniaudioError, MemoryError):
        _say("bad")


def _frames(pieces: Any, size: int) -> Iterator[bytes]:
    """The samples in frames of one size; the last may be shorter."""
    held = b""
    for piece in pieces:
        held += piece.tobytes()
        whole = len(held) - len(held) % size
        yield from (held[at : at + size] for at in range(0, whole, size))
        held = held[whole:]
    if held:
        yield held


def _listen(library: Any, frames: Iterator[bytes]) -> None:
    """Tell each stretch of speech as it ends. What is no speech (a tone, silence) is not given to the recogniser."""
    decoder = library.Decoder(samprate=_RATE, loglevel="FATAL")
    endpointer = library.Endpointer()
    heard_s = told_s = 0.0
    for frame in frames:
        if heard_s >= HEARD_MAX_S:
            break
        heard_s += len(frame) / _SAMPLE_BYTES / _RATE
        _take(decoder, endpointer, frame)
        if heard_s - told_s >= _TOLD_EVERY_S:
            told_s = heard_s
            _say("at", int(heard_s))
    if endpointer.in_speech:
        _tell_words(decoder)
    _say("end", heard_s >= HEARD_MAX_S)


def _take(decoder: Any, endpointer: Any, frame: bytes) -> None:
    was_in_speech = endpointer.in_speech
    is_last = len(frame) < endpointer.frame_bytes
    speech = endpointer.end_stream(frame) if is_last else endpointer.process(frame)
    if speech is None:
        return
    if not was_in_speech:
        decoder.start_utt()
    decoder.process_raw(speech, False, False)
    if not endpointer.in_speech:
        _tell_words(decoder)


def _tell_words(decoder: Any) -> None:
    decoder.end_utt()
    hypothesis = decoder.hyp()
    if hypothesis is not None and hypothesis.hypstr:
        _say("text", hypothesis.hypstr)


def _say(*words: object) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
