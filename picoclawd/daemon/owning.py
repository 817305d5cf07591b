"""Make sure that a workspace has one daemon, by a lock that outlives no process and is never unlinked."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from picoclawd.daemon.instance import Instance, state_home
from picoclawd.errors import Fault, Slug
from picoclawd.files import state


@contextmanager
def own_workspace(instance: Instance, environ: Mapping[str, str]) -> Iterator[None]:
    """Own the workspace and the state directory for the body. Blocking.

    The lock's name is the workspace's device and inode, so that no other spelling of its path gets round it.

    Raises: path_busy where another daemon has it; access_denied where our directories are not ours alone.
    """
    status = os.stat(instance.workspace)
    with (
        _locked(os.path.join(state_home(environ), "picoclawd", "locks"), f"{status.st_dev}-{status.st_ino}", instance),
        _locked(instance.state_dir, "lock", instance),
    ):
        yield


@contextmanager
def _locked(directory: str, name: str, instance: Instance) -> Iterator[None]:
    dir_fd = state.open_private_directory(directory)
    try:
        lock = state.lock_file(dir_fd, name)
        if lock is None:
            pid = state.holder_pid(dir_fd, name)
            raise Fault(
                Slug.PATH_BUSY,
                f"already running: another picoclawd{f' (pid {pid})' if pid else ''} serves {instance.workspace} "
                f"or uses {instance.state_dir}. Use that one, or stop it first",
            )
        try:
            yield
        finally:
            lock.release()
    finally:
        os.close(dir_fd)
