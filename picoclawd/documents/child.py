"""The worker: read one document and end. `python -I -m picoclawd.documents.child REQUEST`, with the file's descriptor.

It gets nothing but that descriptor, and gives up what it could do harm with before it imports a reader. The request is
JSON in its one argument, the answer one JSON object on stdout: what was found, or why nothing was.
"""

import importlib
import json
import os
import resource
import signal
import sys
import warnings
from typing import Any, BinaryIO

from picoclawd import limits
from picoclawd.documents.units import Found, Unreadable, Wanted, to_json
from picoclawd.errors import Slug
from picoclawd.files import linux

MEMORY_BYTES = 600 * limits.MIB  # of address space: a 24-megapixel picture takes a sixth of it
CPU_S = 10  # seconds of the processor
DESCRIPTORS = 32  # the file, the standard three, and the libraries while they are loaded

_READERS = ("pdf", "office", "ole", "image", "table", "readable")  # by `Kind`: the module of the same name
_INSTALL = "pip install 'picoclawd[docs]'"


def confine() -> None:
    """Give up memory, time, files and privileges. Before any reader is imported, and for good."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    data = limits.DOCUMENT_DATA_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    linux.give_up_privileges()


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


def main(argument: str) -> None:
    """Answer one request and end the process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # the daemon may block SIGTERM when it starts us
    confine()
    warnings.simplefilter("ignore")
    request = json.loads(argument)
    wanted = Wanted(
        tuple((start, stop) for start, stop in request["windows"]), request["max_chars"], request.get("name", "")
    )
    with os.fdopen(request["fd"], "rb") as source:
        source.seek(0)
        answer = json.dumps(read(request["kind"], source, wanted), ensure_ascii=False)
    rest = memoryview(answer.encode("utf-8", "replace"))
    while rest:
        rest = rest[os.write(1, rest) :]
    os._exit(0)  # what the libraries would do at their end is of no use


if __name__ == "__main__":
    main(sys.argv[1])
