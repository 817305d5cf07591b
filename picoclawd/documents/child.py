"""What happens in a process of a document's own: give up what could do harm, read it, and say what was found.

Runs in `worker`: confined before a reader is imported, reading in a process that is forked for this one document.
"""

import importlib
import json
import os
import resource
from typing import Any, BinaryIO

from picoclawd import limits
from picoclawd.documents.units import Found, Unreadable, Wanted, to_json
from picoclawd.errors import Slug
from picoclawd.files import linux

MEMORY_BYTES = 600 * limits.MIB  # of address space: a 24-megapixel picture takes a sixth of it
CPU_S = 10  # seconds of the processor, for each document anew: a forked process counts from nought
DESCRIPTORS = 32  # the file, the standard three, and the libraries while they are loaded

_READERS = ("pdf", "office", "ole", "image", "table", "readable")  # by `Kind`: the module of the same name
_INSTALL = "pip install 'picoclawd[docs]'"


def confine() -> None:
    """Give up memory, time, files and privileges. Before any reader is imported, for good, and for every child."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    data = limits.DOCUMENT_DATA_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    linux.give_up_privileges()


def answer(request: bytes, document: int) -> bytes:
    """Read what a request asks for of the document, whose descriptor is taken; the answer, as JSON in UTF-8."""
    asked = json.loads(request)
    wanted = Wanted(tuple((start, stop) for start, stop in asked["windows"]), asked["max_chars"], asked["name"])
    with os.fdopen(document, "rb") as source:
        source.seek(0)
        found = read(asked["kind"], source, wanted)
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")


def read(kind: str, source: BinaryIO, wanted: Wanted) -> dict[str, Any]:
    """Run the reader of `kind`; its answer, or why there is none, as JSON has it."""
    try:
        if kind not in _READERS:
            raise Unreadable("no reader for this format", Slug.READER_NOT_INSTALLED)
        reader = importlib.import_module(f"picoclawd.documents.{kind}")
        found: Found = reader.read(source, wanted)
        return {"found": to_json(found)}
    except Unreadable as error:
        return _failed(error.slug, error.reason)
    except MemoryError:
        most = limits.DOCUMENT_DATA_BYTES // limits.MIB
        return _failed(Slug.TOO_LARGE, f"reading it takes more than {most} MiB of memory")
    except ModuleNotFoundError as error:
        return _failed(
            Slug.READER_NOT_INSTALLED, f"the reader for it is not installed ({error.name}); a person can: {_INSTALL}"
        )
    except RecursionError:
        return _failed(Slug.UNSUPPORTED_FORMAT, "its parts are nested too deep")
    except Exception as error:  # noqa: BLE001  # a library's bug, or damage that it does not know: the file's fault
        return _failed(Slug.UNSUPPORTED_FORMAT, f"it is damaged, or not what it looks like ({type(error).__name__})")


def _failed(slug: Slug, reason: str) -> dict[str, Any]:
    return {"error": slug.value, "reason": reason}
