"""The worker bounds itself before it looks at the recording."""

import subprocess
import sys

from picoclawd.speech.worker import _frames

SHOW = (
    "import resource, sys\n"
    "sys.modules['miniaudio'] = None\n"
    "from picoclawd.speech import worker\n"
    "worker.main()\n"
    "print(resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_FSIZE))\n"
)


def test_limits_are_set_before_any_library_is_imported_and_a_missing_one_is_told() -> None:
    shown = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, timeout=60, check=True).stdout
    gib = 1 << 30
    assert shown.splitlines() == ['["missing", "miniaudio"]', f"({gib}, {gib}) (0, 0)"]


def test_pieces_become_frames_of_one_size() -> None:
    class Piece(bytes):
        def tobytes(self) -> bytes:
            return bytes(self)

    assert list(_frames([Piece(b"abc"), Piece(b"defgh"), Piece(b"i")], 4)) == [b"abcd", b"efgh", b"i"]
