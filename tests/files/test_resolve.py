"""The two resolvers alone: where they lead, when they escape, and that they leave no descriptor behind."""

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from picoclawd.errors import Fault, Slug
from picoclawd.files import linux
from picoclawd.files.resolve import Escape, Openat2Resolver, ResolverKind, WalkResolver, best_resolver, has_openat2
from tests.files.conftest import Injected
from tests.files.sandbox import RESOLVERS, Sandbox, build, racing

both_resolvers = pytest.mark.parametrize("kind", RESOLVERS)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return build(tmp_path.resolve())


@pytest.fixture
def root(sandbox: Sandbox) -> Iterator[int]:
    fd = os.open(sandbox.ws, os.O_PATH | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def open_fds() -> list[str]:
    return os.listdir("/proc/self/fd")


@both_resolvers
@pytest.mark.parametrize(
    ("relative", "target"),
    [
        ("..", ""),
        ("../out", "out"),
        ("sub/../../out/x", "out/x"),
        ("outdir", "out"),
        ("outdir/", "out"),
        ("outdir/../ws-evil", "ws-evil"),
        ("outdir_rel/deep/s.txt", "out/deep/s.txt"),
        ("leak", "out/secret.txt"),
        ("sub/leak_up", "out/secret.txt"),
        ("leak_long", "out/secret.txt"),
        ("parent", ""),
        ("parent/media", "media"),
        ("evil_dotdot", "ws-evil/x.txt"),
        ("dangling_out_dir", "out/newdir/newborn.txt"),
    ],
)
def test_an_escape_tells_where_to(sandbox: Sandbox, root: int, kind: ResolverKind, relative: str, target: str) -> None:
    before = open_fds()
    with pytest.raises(Escape) as escape:
        kind(sandbox.roots[1:]).open(root, relative.encode(), os.O_RDONLY)
    assert escape.value.target == os.fsencode(sandbox.top / target)
    assert open_fds() == before


@both_resolvers
@pytest.mark.parametrize(
    ("relative", "flags", "code"),
    [
        ("a", os.O_RDONLY, errno.ELOOP),
        ("l41", os.O_PATH, errno.ELOOP),
        ("gone", os.O_RDONLY, errno.ENOENT),
        ("gone/..", os.O_RDONLY, errno.ENOENT),
        ("ok.txt/..", os.O_RDONLY, errno.ENOTDIR),
        ("ok.txt/", os.O_PATH, errno.ENOTDIR),
        ("ok.txt/.", os.O_PATH, errno.ENOTDIR),
        ("ok.txt", os.O_RDONLY | os.O_DIRECTORY, errno.ENOTDIR),
        ("ok.txt", os.O_PATH | os.O_DIRECTORY, errno.ENOTDIR),
        ("in_abs", os.O_PATH | os.O_DIRECTORY, errno.ENOTDIR),
        ("in_rel", os.O_RDONLY | os.O_NOFOLLOW, errno.ELOOP),
        ("sock", os.O_RDONLY, errno.ENXIO),
        ("n" * 256, os.O_RDONLY, errno.ENAMETOOLONG),
    ],
)
def test_both_raise_what_open_would(
    sandbox: Sandbox, root: int, kind: ResolverKind, relative: str, flags: int, code: int
) -> None:
    before = open_fds()
    with pytest.raises(OSError) as caught:
        kind(sandbox.roots[1:]).open(root, relative.encode(), flags)
    assert errno.errorcode[caught.value.errno or 0] == errno.errorcode[code]
    assert open_fds() == before


@both_resolvers
@pytest.mark.parametrize(
    ("relative", "real"),
    [
        ("", ""),
        (".", ""),
        ("sub/..", ""),
        ("sub/", "sub"),
        ("in_dir_slash/../ok.txt", "ok.txt"),
        ("in_dir_abs/../ok.txt", "ok.txt"),
        ("in_far", "sub/inner/far.txt"),
        ("parent/ws/sub", "sub"),
        ("../ws/ok.txt", "ok.txt"),
        ("in_alias", "ok.txt"),
        ("l40", "ok.txt"),
    ],
)
def test_both_lead_to_the_same_file(sandbox: Sandbox, root: int, kind: ResolverKind, relative: str, real: str) -> None:
    before = open_fds()
    fd = kind(sandbox.roots[1:]).open(root, relative.encode(), os.O_PATH)
    assert linux.fd_path(fd) == os.fsencode(sandbox.top / "ws" / real)
    assert not os.get_inheritable(fd)
    os.close(fd)
    assert open_fds() == before


@both_resolvers
def test_nofollow_with_path_gives_the_link_itself(root: int, kind: ResolverKind) -> None:
    fd = kind(()).open(root, b"leak", os.O_PATH | os.O_NOFOLLOW)
    assert os.readlink(b"", dir_fd=fd).endswith(b"/out/secret.txt")
    os.close(fd)


@both_resolvers
def test_below_slash_nothing_escapes(sandbox: Sandbox, kind: ResolverKind) -> None:
    slash = os.open("/", os.O_PATH)
    for text in ("../../" + str(sandbox.top)[1:] + "/ws/leak", str(sandbox.top)[1:] + "/ws/parent_abs/out/secret.txt"):
        fd = kind(()).open(slash, text.encode(), os.O_PATH)
        assert linux.fd_path(fd) == os.fsencode(sandbox.top / "out/secret.txt")
        os.close(fd)
    os.close(slash)


@both_resolvers
def test_a_magic_link_of_proc_is_a_loop(kind: ResolverKind) -> None:
    slash = os.open("/", os.O_PATH)
    before = open_fds()
    for text in (b"proc/self/root/etc", b"proc/self/exe", b"proc/%d/cwd" % os.getpid(), b"proc/self/fd/0"):
        with pytest.raises(OSError) as caught:
            kind(()).open(slash, text, os.O_PATH)
        assert caught.value.errno == errno.ELOOP
    assert open_fds() == before
    os.close(slash)


@both_resolvers
def test_an_absolute_link_is_rerooted_by_its_text(sandbox: Sandbox, root: int, kind: ResolverKind) -> None:
    resolver = kind(sandbox.roots[1:])
    top = os.fsencode(sandbox.top)
    assert resolver.reroot(root, sandbox.ws + b"/a/../b") == b"a/../b"
    assert resolver.reroot(root, top + b"/ws-link/a/") == b"a/"
    assert resolver.reroot(root, top + b"/out/../ws/a/") == b"a/"
    assert resolver.reroot(root, top + b"/out/../ws/a") == b"a"
    with pytest.raises(Escape) as escape:
        resolver.reroot(root, top + b"/ws-evil//a")
    assert escape.value.target == top + b"/ws-evil/a"


@both_resolvers
@pytest.mark.parametrize("end", ["/", "/.", "/x/..", "//", "/./"])
def test_a_link_that_comes_in_from_outside_wants_a_directory_where_its_text_does(
    sandbox: Sandbox, root: int, kind: ResolverKind, end: str
) -> None:
    inside = os.fsencode(sandbox.top) + b"/elsewhere/../ws/"
    assert kind(()).reroot(root, inside + b"ok.txt") == b"ok.txt"
    assert kind(()).reroot(root, inside + b"ok.txt" + end.encode()) == b"ok.txt/"


@both_resolvers
def test_a_root_that_was_moved_is_still_resolved_below(sandbox: Sandbox, root: int, kind: ResolverKind) -> None:
    os.rename(sandbox.ws, sandbox.top / "moved")
    fd = kind(()).open(root, b"sub/../ok.txt", os.O_RDONLY)
    assert linux.fd_path(fd) == os.fsencode(sandbox.top / "moved/ok.txt")
    os.close(fd)
    with pytest.raises(Escape):
        kind(()).open(root, b"in_abs", os.O_RDONLY)


def test_without_a_path_of_its_own_every_way_out_is_an_escape(tmp_path: Path) -> None:
    deep = os.open(tmp_path, os.O_PATH)
    for _ in range(25):
        os.mkdir("n" * 200, dir_fd=deep)
        below = os.open("n" * 200, os.O_PATH, dir_fd=deep)
        os.close(deep)
        deep = below
    assert linux.fd_path(deep) is None
    os.symlink("/etc/passwd", "link", dir_fd=deep)
    for relative in (b"..", b"link"):
        with pytest.raises(Escape):
            WalkResolver().open(deep, relative, os.O_PATH)
    os.close(deep)


def test_openat2_outlasts_renames_that_race_with_it(sandbox: Sandbox, root: int) -> None:
    # The kernel answers EAGAIN where any rename of the system meets a `..` below the root.
    os.mkdir(os.path.join(sandbox.ws, b"r1"))
    rename = "os.rename('r1', 'r2', src_dir_fd=fd, dst_dir_fd=fd); os.rename('r2', 'r1', src_dir_fd=fd, dst_dir_fd=fd)"
    raced = opened = tried = 0
    ups = 200  # follows the machine to where about half of the single tries lose; 64 in a row then do not
    deadline = time.monotonic() + 30
    with racing(rename, os.fsdecode(sandbox.ws)):
        while raced < 40 and time.monotonic() < deadline:
            tried += 1
            relative = b"sub/../" * ups + b"ok.txt"
            try:
                os.close(linux.openat2(root, relative, os.O_PATH, 0, linux.RESOLVE_BENEATH))
                ups = min(ups + 8, 400)
            except BlockingIOError:
                raced += 1
                ups = max(ups // 2, 1)
            try:
                os.close(Openat2Resolver().open(root, relative, os.O_PATH))
                opened += 1
            except Fault as fault:
                assert fault.slug is Slug.PATH_BUSY
    assert raced >= 40, "nothing raced"
    assert opened > tried // 2


def test_openat2_gives_up_when_renames_race_for_ever(root: int, injected: Injected) -> None:
    with injected("openat2:error=EAGAIN"), pytest.raises(Fault, match="renaming") as fault:
        Openat2Resolver().open(root, b"ok.txt", os.O_PATH)
    assert fault.value.slug is Slug.PATH_BUSY


@pytest.mark.parametrize("error", ["ENOSYS", "EPERM"])
def test_the_walk_is_chosen_where_openat2_is_refused(root: int, injected: Injected, error: str) -> None:
    with injected(f"openat2:error={error}"):
        chosen = best_resolver(root)
    assert chosen is WalkResolver


def test_openat2_is_chosen_where_the_kernel_offers_it(root: int) -> None:
    expected = Openat2Resolver if has_openat2(root) else WalkResolver
    assert best_resolver(root) is expected


def test_a_descriptor_that_is_closed_is_not_taken_for_a_missing_call(root: int) -> None:
    gone = os.dup(root)
    os.close(gone)
    with pytest.raises(OSError, match="Bad file descriptor"):
        has_openat2(gone)
