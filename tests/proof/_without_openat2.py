"""Run a command to which the kernel answers openat2(2) with ENOSYS: `COMMAND ...`. Linux, x86-64 and aarch64.

That is what a seccomp filter such as systemd's RestrictSUIDSGID= does, and an older kernel. Run by its path: the
working directory may hold modules of anybody.
"""

import ctypes
import errno
import os
import struct
import sys

_OPENAT2 = 437  # the same number on every architecture
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD_NUMBER, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h: BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse_openat2() -> None:
    """Have the kernel refuse it to this process and to all that it starts."""
    code = b"".join(
        struct.pack("HBBI", *each)
        for each in (
            (_LOAD_NUMBER, 0, 0, 0),
            (_JUMP_IF_EQUAL, 0, 1, _OPENAT2),
            (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
            (_RETURN, 0, 0, _ALLOW),
        )
    )
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(code) // 8, code)
    for arguments in (
        (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse_openat2()
    os.execv(sys.argv[1], sys.argv[1:])
