"""Recordings made on the spot."""

import array
import io
import math
import wave

RATE = 16_000


def tone(seconds: float = 1.0, hertz: float = 440.0, rate: int = RATE) -> bytes:
    """A WAV of a sine tone, mono, 16 bit."""
    step = 2 * math.pi * hertz / rate
    samples = array.array("h", (int(12_000 * math.sin(step * at)) for at in range(int(seconds * rate))))
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(samples.tobytes())
    return file.getvalue()
