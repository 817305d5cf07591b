"""Follow a forked child from one system call to the next, and at a chosen one kill it, fail the call or cut it short.

ptrace(2) by ctypes: strace would do the same at ten times the price of a whole cycle. x86-64 only, for the registers.
"""

import ctypes
import functools
import os
import platform
import signal
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from enum import Enum

_SEIZE, _INTERRUPT, _SYSCALL, _GETREGS, _SETREGS, _SYSCALL_INFO = 0x4206, 0x4207, 24, 12, 13, 0x420E
_OPTIONS = 0x01 | 0x08 | 0x100000  # TRACESYSGOOD, TRACECLONE, EXITKILL
_WALL = 0x40000000
_SYSCALL_STOP = signal.SIGTRAP | 0x80
_BODY_S = 60  # then the kernel ends a child that hangs
_RAX, _RDX, _RSI, _ORIG_RAX = 10, 12, 13, 15  # of struct user_regs_struct, in words
_FCNTL = 72
_UNLCK = 2  # of struct flock, whose first half word is the kind
_SETLK = frozenset({6, 7, 37, 38})
_GETPPID = 110  # stands for a mark
_WRITES = frozenset({1, 18})  # write, pwrite64: their third argument is a length

# What touches files, by its number in asm/unistd_64.h.
NAMES = {
    0: "read", 1: "write", 2: "open", 3: "close", 4: "stat", 5: "fstat", 6: "lstat", 8: "lseek", 9: "mmap",
    17: "pread64", 18: "pwrite64", 20: "writev", 21: "access", 72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync",
    76: "truncate", 77: "ftruncate", 82: "rename", 83: "mkdir", 84: "rmdir", 86: "link", 87: "unlink", 89: "readlink",
    91: "fchmod", 93: "fchown", 138: "fstatfs", 187: "readahead", 188: "setxattr", 190: "fsetxattr", 191: "getxattr",
    193: "fgetxattr", 194: "listxattr", 196: "flistxattr", 199: "fremovexattr", 217: "getdents64", 257: "openat",
    258: "mkdirat", 262: "newfstatat", 263: "unlinkat", 264: "renameat", 265: "linkat", 267: "readlinkat",
    269: "faccessat", 277: "sync_file_range", 280: "utimensat", 285: "fallocate", 316: "renameat2", 327: "preadv2",
    332: "statx", 437: "openat2",
}  # fmt: skip


class Deed(Enum):
    """What is done to the process as it enters the chosen call."""

    NOTHING = "nothing"
    KILL = "kill"  # before the call
    HALF = "half"  # a write is given half of its bytes, and says so
    HALF_KILL = "half and kill"  # the same, then it is killed
    FAIL = "fail"  # the call is not made, and answers an error


@dataclass(frozen=True)
class Plan:
    """Do the deed at the `at`-th call (from 1) among the `counted` numbers, None: among all.

    Counted is from the first to the second `mark`, or all that the body does.
    """

    deed: Deed = Deed.NOTHING
    at: int = 0
    errno: int = 0
    counted: Container[int] | None = None
    between_marks: bool = False


@dataclass
class Trace:
    """What was seen: the counted calls in their order, the one that it was done to, and os.waitpid's status."""

    calls: list[str] = field(default_factory=list)
    hit: str | None = None
    status: int = 0

    @property
    def killed(self) -> bool:
        """Whether it was killed, rather than having ended before."""
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL


def possible() -> str | None:
    """Why tracing is not possible here; None where it is."""
    if platform.machine() != "x86_64":
        return f"the tracer knows the registers of x86-64, and this is {platform.machine()}"
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    try:
        _ptrace(_SEIZE, pid, 0, _OPTIONS)
    except OSError as exc:
        return f"ptrace is not allowed here: {exc.strerror}"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, _WALL)
    return None


def run(body: Callable[[], None], plan: Plan) -> Trace:
    """Fork a child that runs `body`, and trace it from there to its end, all its threads. Blocking.

    Whatever `body` raises ends the child with status 1. No other child of this process may end meanwhile.
    """
    return run_prepared(lambda: body, plan)


def run_prepared(prepare: Callable[[], Callable[[], None]], plan: Plan) -> Trace:
    """The same for what `prepare()` returns in the child: of the preparation nothing is traced."""
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(prepare, ready, go)
    for fd in (ready[1], go[0]):
        os.close(fd)
    try:
        if not os.read(ready[0], 1):
            return Trace(status=os.waitpid(pid, 0)[1])
        return _follow(pid, plan, go[1])
    finally:
        os.close(ready[0])
        os.close(go[1])


def mark() -> None:
    """In a traced body, under a plan `between_marks`: begin to count, and at the second mark stop for good."""
    os.getppid()


def _child(prepare: Callable[[], Callable[[], None]], ready: tuple[int, int], go: tuple[int, int]) -> None:
    status = 1
    signal.alarm(_BODY_S)
    try:
        body = prepare()
        os.write(ready[1], b"r")
        os.read(go[0], 1)
        for fd in (*ready, *go):
            os.close(fd)
        body()
        status = 0
    except BaseException:  # noqa: BLE001 - a forked child must not go on as its parent
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        __import__("traceback").print_exc()
    finally:
        os._exit(status)


def _follow(pid: int, plan: Plan, go: int) -> Trace:
    trace = Trace()
    tracee = _Tracee(pid, plan, trace)
    for tid in map(int, os.listdir(f"/proc/{pid}/task")):
        _ptrace(_SEIZE, tid, 0, _OPTIONS)
        _ptrace(_INTERRUPT, tid, 0, 0)
    os.write(go, b"g")
    while True:
        tid, status = os.waitpid(-1, _WALL)
        if os.WIFSTOPPED(status):
            tracee.stopped(tid, status)
        elif tid == pid:
            trace.status = status
            return trace


class _Tracee:
    """One traced process; `armed` once its main thread has been let go."""

    def __init__(self, pid: int, plan: Plan, trace: Trace) -> None:
        self._pid = pid
        self._plan = plan
        self._trace = trace
        self._armed = False
        self._marks = 0
        self._inside: set[int] = set()
        self._pending: int | None = None

    def stopped(self, tid: int, status: int) -> None:
        number = os.WSTOPSIG(status)
        try:
            if number == _SYSCALL_STOP:
                self._at_call(tid)
            passed_on = 0 if number in (_SYSCALL_STOP, signal.SIGTRAP) or status >> 16 else number
            _ptrace(_SYSCALL, tid, 0, passed_on)
        except ProcessLookupError:
            return  # killed, by us, or with the others

    def _at_call(self, tid: int) -> None:
        if tid in self._inside:
            self._inside.discard(tid)
            self._leaves(tid)
        else:
            self._inside.add(tid)
            if self._armed:
                self._enters(tid)

    def _leaves(self, tid: int) -> None:
        if not self._armed:
            self._armed = tid == self._pid
        elif self._pending == tid:
            self._pending = None
            if self._plan.deed is Deed.FAIL:
                registers = _registers(tid)
                registers[_RAX] = 2**64 - self._plan.errno
                _ptrace(_SETREGS, tid, 0, ctypes.addressof(registers))
            elif self._plan.deed is Deed.HALF_KILL:
                os.kill(self._pid, signal.SIGKILL)

    def _enters(self, tid: int) -> None:
        number, length = _call_of(tid)
        if number == _FCNTL and _is_unlock(tid):
            return
        plan = self._plan
        if number == _GETPPID:
            self._marks += 1
        if plan.between_marks and self._marks != 1:
            return
        if plan.counted is not None and number not in plan.counted:
            return
        self._trace.calls.append(NAMES.get(number, f"call {number}"))
        if len(self._trace.calls) == plan.at:
            self._do(tid, number, length)

    def _do(self, tid: int, number: int, length: int) -> None:
        self._trace.hit = self._trace.calls[-1]
        match self._plan.deed:
            case Deed.KILL:
                os.kill(self._pid, signal.SIGKILL)
            case Deed.HALF | Deed.HALF_KILL if number in _WRITES and length > 1:
                self._change(tid, _RDX, length // 2)
            case Deed.FAIL:
                self._change(tid, _ORIG_RAX, 2**64 - 1)
            case _:
                self._trace.hit = None

    def _change(self, tid: int, register: int, value: int) -> None:
        registers = _registers(tid)
        registers[register] = value
        _ptrace(_SETREGS, tid, 0, ctypes.addressof(registers))
        self._pending = tid


class _CallInfo(ctypes.Structure):
    """`struct ptrace_syscall_info` of ptrace(2) at the entry of a call."""

    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("ip", ctypes.c_uint64),
        ("sp", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
        ("rest", ctypes.c_uint64),
    )


def _call_of(tid: int) -> tuple[int, int]:
    """The number of the call that is entered, and its third argument."""
    info = _CallInfo()
    _ptrace(_SYSCALL_INFO, tid, ctypes.sizeof(info), ctypes.addressof(info))
    return int(info.number), int(info.arguments[2])


def _is_unlock(tid: int) -> bool:
    """Whether a lock is given back: that cannot fail on a local file system, and SQLite does not expect it to."""
    registers = _registers(tid)
    if registers[_RSI] not in _SETLK:
        return False
    with open(f"/proc/{tid}/mem", "rb", 0) as memory:
        memory.seek(registers[_RDX])
        return int.from_bytes(memory.read(2), "little") == _UNLCK


def _registers(tid: int) -> "ctypes.Array[ctypes.c_ulong]":
    registers = (ctypes.c_ulong * 27)()
    _ptrace(_GETREGS, tid, 0, ctypes.addressof(registers))
    return registers


@functools.cache
def _libc_ptrace() -> "ctypes._NamedFuncPointer":
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    call.restype = ctypes.c_long
    return call


def _ptrace(request: int, tid: int, address: int, data: int) -> None:
    if _libc_ptrace()(request, tid, address, data) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
