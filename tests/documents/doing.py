"""A worker whose reader of tables does what the document says, which is Python, and finds what that puts in `told`."""

import sys
from pathlib import Path

READER = """
import os, resource, signal, sys, time
from pathlib import Path
from picoclawd.documents.units import Found
def read(source, wanted):
    said = {"told": ""}
    exec(source.read().decode(), globals() | {"source": source, "wanted": wanted}, said)
    return Found("csv", "row", 1, ((1, str(said["told"])),))
"""
# All else is the true worker: it imports the reader by its name, confined, and forks.
PROGRAM = f"""
import sys, types
name = "picoclawd.documents.table"
sys.modules[name] = types.ModuleType(name)
exec({READER!r}, sys.modules[name].__dict__)
from picoclawd.documents import worker
worker.main(sys.argv[1:])
"""
COMMAND = (sys.executable, "-I", "-c", PROGRAM)


def begun(path: object) -> str:
    """Python that makes a file whose name ends in the process's number: a worker may make files, but not fill them."""
    return f"os.close(os.open({str(path)!r} + str(os.getpid()), os.O_CREAT | os.O_WRONLY))\n"


def is_running(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
