"""The worker: `python -I -m picoclawd.documents.worker READER...` reads documents of one format, one after the other.

It confines itself, imports the readers, and then forks a process for each document, which alone looks into it: what is
alike for all documents of a call is done once, and what a document does to its process is done to that one.

stdin is a socket that keeps messages apart (SOCK_SEQPACKET). A request is one message: JSON, for `child.answer`, and
two descriptors, the document and the pipe for its answer. The reply is one message once the document's process has
ended: its status in digits, negative for a signal. At the end of stdin the worker ends.
"""

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
import warnings
from typing import NoReturn

from picoclawd import limits
from picoclawd.documents import child
from picoclawd.files import linux

REQUEST_MAX_BYTES = 128 * limits.KIB  # a thousand windows, each at its longest, are 36 KB

_CONTROL = 0  # the descriptor of the socket
_ANSWER = 1  # in a document's process: its stdout
_NOTHING = 2  # stderr, which leads to /dev/null


def main(readers: list[str]) -> NoReturn:
    """Serve requests until there are no more, and end the process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # the daemon may block SIGTERM when it starts us
    child.confine()
    warnings.simplefilter("ignore")
    for reader in readers:
        with contextlib.suppress(Exception):  # a document's process imports it again, and tells what is wrong
            importlib.import_module(f"picoclawd.documents.{reader}")
    gc.freeze()  # a collection in a document's process would copy every page that is shared with this one
    control = socket.socket(fileno=_CONTROL)
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, REQUEST_MAX_BYTES, 2)
        if not request:
            os._exit(0)
        control.send(b"%d" % _in_its_own_process(request, *descriptors))


def _in_its_own_process(request: bytes, document: int, answer: int) -> int:
    """Fork for one document; the status with which its process ended. The parent reads nothing of it."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _read(parent, request, document, answer)
    os.close(document)
    os.close(answer)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _read(parent: int, request: bytes, document: int, answer: int) -> NoReturn:
    """Read the document and answer, with nothing open but these two."""
    try:
        linux.end_with_parent(parent)
        os.dup2(_NOTHING, _CONTROL)
        os.dup2(answer, _ANSWER)
        os.close(answer)
        rest = memoryview(child.answer(request, document))
        while rest:
            rest = rest[os.write(_ANSWER, rest) :]
        os._exit(0)  # what the libraries would do at their end is of no use
    finally:
        os._exit(1)  # whatever happened: the parent's loop is not ours


if __name__ == "__main__":
    main(sys.argv[1:])
