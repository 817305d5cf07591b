"""What is opened, what is refused, and in which words: one table for both resolvers, then the single rules."""

import errno
import os
import re
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from picoclawd import limits
from picoclawd.errors import Fault, Slug
from picoclawd.files import linux, paths
from picoclawd.files.policy import Access, Allow, Ask, PathRules, Policy
from picoclawd.files.resolve import Openat2Resolver, ResolverKind
from picoclawd.files.rooted import Rooted
from tests.files.conftest import Injected
from tests.files.sandbox import LISTS, READS, RESOLVERS, SECRET, WRITES, Sandbox, build

both_resolvers = pytest.mark.parametrize("kind", RESOLVERS)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return build(tmp_path.resolve())


def read(rooted: Rooted, sandbox: Sandbox, given: str | bytes, access: Access = Access.READ) -> bytes:
    with rooted.open_file(sandbox.path(given), access) as opened:
        return os.read(opened.fd, 65536)


def slug_of(fault: pytest.ExceptionInfo[Fault]) -> Slug:
    return fault.value.slug


@contextmanager
def no_leaks() -> Iterator[None]:
    before = os.listdir("/proc/self/fd")
    yield
    assert os.listdir("/proc/self/fd") == before


# The table


def test_the_table_is_large_enough() -> None:
    assert len(READS) + len(WRITES) + len(LISTS) >= 150


@both_resolvers
@pytest.mark.parametrize("given", READS)
def test_a_read_gives_what_the_table_says(sandbox: Sandbox, kind: ResolverKind, given: str | bytes) -> None:
    expected = READS[given]
    with sandbox.rooted(kind) as rooted, no_leaks():
        if isinstance(expected, bytes):
            assert read(rooted, sandbox, given) == expected
        else:
            with pytest.raises(Fault) as fault:
                read(rooted, sandbox, given)
            assert slug_of(fault) is expected


@both_resolvers
@pytest.mark.parametrize("given", WRITES)
def test_a_write_goes_where_the_table_says(sandbox: Sandbox, kind: ResolverKind, given: str | bytes) -> None:
    expected = WRITES[given]
    outside = sandbox.outside()
    inside = sorted(os.walk(sandbox.ws))
    with sandbox.rooted(kind) as rooted, no_leaks():
        if isinstance(expected, Slug):
            with pytest.raises(Fault) as fault:
                write(rooted, sandbox, given)
            assert slug_of(fault) is expected
            assert sorted(os.walk(sandbox.ws)) == inside, "a refused write created something"
        else:
            write(rooted, sandbox, given)
            assert (sandbox.top / "ws" / expected).read_bytes() == b"new"
    assert sandbox.outside() == outside


def write(rooted: Rooted, sandbox: Sandbox, given: str | bytes) -> None:
    with rooted.place(sandbox.path(given), make_parents=True) as place:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        fd = os.open(place.name, flags, 0o600, dir_fd=place.dir_fd)
        os.write(fd, b"new")
        os.close(fd)
        assert os.path.realpath(place.real) == place.real


@both_resolvers
@pytest.mark.parametrize("given", LISTS)
def test_a_listing_gives_what_the_table_says(sandbox: Sandbox, kind: ResolverKind, given: str | bytes) -> None:
    expected = LISTS[given]
    with sandbox.rooted(kind) as rooted, no_leaks():
        if isinstance(expected, bytes):
            with rooted.open_directory(sandbox.path(given)) as opened:
                assert os.fsdecode(expected) in os.listdir(opened.fd)
        else:
            with pytest.raises(Fault) as fault, rooted.open_directory(sandbox.path(given)):
                pass
            assert slug_of(fault) is expected


@both_resolvers
@pytest.mark.parametrize("given", WRITES)
def test_foreseeing_a_write_agrees_with_it_and_creates_nothing(
    sandbox: Sandbox, kind: ResolverKind, given: str | bytes
) -> None:
    expected = WRITES[given]
    inside = sorted(os.walk(sandbox.ws))
    with sandbox.rooted(kind) as rooted, no_leaks():
        if isinstance(expected, Slug):
            with pytest.raises(Fault) as fault:
                rooted.foresee(sandbox.path(given))
            assert slug_of(fault) is expected
        else:
            foreseen = rooted.foresee(sandbox.path(given))
            assert foreseen.real == sandbox.ws + b"/" + os.fsencode(expected)
            assert (foreseen.stat is not None) == os.path.exists(foreseen.real)
    assert sorted(os.walk(sandbox.ws)) == inside


# Public reports


@both_resolvers
def test_a01_a_link_that_leaves_the_workspace_is_refused_while_the_file_beside_it_is_read(
    sandbox: Sandbox, kind: ResolverKind
) -> None:
    with sandbox.rooted(kind) as rooted:
        with pytest.raises(Fault) as fault:
            read(rooted, sandbox, "leak")
        assert slug_of(fault) is Slug.OUTSIDE_WORKSPACE
        assert str(sandbox.top / "out") not in fault.value.message
        assert read(rooted, sandbox, "ok.txt") == b"ok\n"


@both_resolvers
def test_a02_a_sibling_whose_name_begins_like_the_workspaces_is_outside(sandbox: Sandbox, kind: ResolverKind) -> None:
    with sandbox.rooted(kind) as rooted:
        for given in ("{T}/ws-evil/x.txt", "../ws-evil/x.txt", "{T}/ws/../ws-evil/x.txt", "./../ws-evil/x.txt"):
            with pytest.raises(Fault) as fault:
                read(rooted, sandbox, given)
            assert slug_of(fault) is Slug.OUTSIDE_WORKSPACE
        assert read(rooted, sandbox, "sub/../ok.txt") == b"ok\n"


@both_resolvers
def test_a03_a_new_file_below_a_linked_directory_creates_nothing_outside(sandbox: Sandbox, kind: ResolverKind) -> None:
    outside = sandbox.outside()
    with sandbox.rooted(kind) as rooted:
        for given in ("outdir/new.txt", "outdir/sub/new.txt", "outdir_rel/n2.txt", "outdir_rel/a/b/c.txt"):
            with pytest.raises(Fault) as fault:
                rooted.place(sandbox.path(given), make_parents=True)
            assert slug_of(fault) is Slug.OUTSIDE_WORKSPACE
    assert sandbox.outside() == outside


def test_a05_a_hard_link_shows_its_count_so_that_in_place_writes_can_refuse(sandbox: Sandbox) -> None:
    with sandbox.rooted() as rooted, rooted.place(sandbox.path("hard.txt")) as place:
        assert place.stat is not None
        assert place.stat.st_nlink == 2


@both_resolvers
@pytest.mark.parametrize("name", [".SSH/Id_Rsa", ".ENV", "AUTHORIZED_KEYS", "server.PEM"])
def test_a06_letter_case_opens_no_protected_name(sandbox: Sandbox, kind: ResolverKind, name: str) -> None:
    with sandbox.rooted(kind) as rooted:
        for given in (name, name.lower(), name.upper()):
            for action in (rooted.open_file, rooted.place, rooted.entry):
                with pytest.raises(Fault) as fault:
                    action(sandbox.path(given))
                assert slug_of(fault) is Slug.PROTECTED_PATH


@both_resolvers
def test_a07_a_linked_name_leads_to_the_existing_file_with_its_stat(sandbox: Sandbox, kind: ResolverKind) -> None:
    with sandbox.rooted(kind) as rooted, rooted.place(sandbox.path(".cfg")) as place:
        assert (place.name, place.real) == (b"ok.txt", sandbox.ws + b"/ok.txt")
        assert place.stat is not None
        assert place.stat.st_size == 3


@both_resolvers
def test_a08_an_allowed_directory_opens_nothing_beside_it(sandbox: Sandbox, kind: ResolverKind) -> None:
    rules = PathRules(sandbox.ws, allow_read=(f"^{sandbox.top}/media/",))
    with sandbox.rooted(kind, rules) as rooted, no_leaks():
        assert read(rooted, sandbox, "{T}/media/a.txt") == b"media\n"
        assert read(rooted, sandbox, "{T}/media/l_abs") == b"media\n"
        assert read(rooted, sandbox, "{T}/media/l_ws") == b"ok\n"
        assert read(rooted, sandbox, "to_media") == b"media\n"
        assert read(rooted, sandbox, "to_media_rel") == b"media\n"
        for given in ("{T}/media/../out/secret.txt", "{T}/media/l_out", "to_media_out", "{T}/media/l_out_gone"):
            with pytest.raises(Fault) as fault:
                read(rooted, sandbox, given)
            assert slug_of(fault) is Slug.OUTSIDE_WORKSPACE
        with pytest.raises(Fault) as fault:
            rooted.place(sandbox.path("{T}/media/a.txt"))
        assert slug_of(fault) is Slug.OUTSIDE_WORKSPACE
        assert "tools.allow_write_paths" in fault.value.message


@both_resolvers
def test_a11_dots_after_a_link_are_resolved_as_text(sandbox: Sandbox, kind: ResolverKind) -> None:
    outside = sandbox.outside()
    with sandbox.rooted(kind) as rooted, rooted.place(sandbox.path("outdir/../x.txt")) as place:
        assert place.real == sandbox.ws + b"/x.txt"
    assert sandbox.outside() == outside


@both_resolvers
def test_a54_each_cause_has_its_own_slug_and_errno(sandbox: Sandbox, kind: ResolverKind) -> None:
    seen = {}
    with sandbox.rooted(kind) as rooted:
        for given in ("n" * 300, "ok.txt/x", "sub", "a", "not_there"):
            with pytest.raises(Fault) as fault:
                read(rooted, sandbox, given)
            seen[given] = (fault.value.slug.value, fault.value.data.get("errno_name"))
    assert list(seen.values()) == [
        ("invalid_path", "ENAMETOOLONG"),
        ("not_a_directory", "ENOTDIR"),
        ("not_a_file", None),
        ("symlink_loop", "ELOOP"),
        ("not_found", "ENOENT"),
    ]


@both_resolvers
def test_a54_a_file_that_may_not_be_read_is_access_denied(
    sandbox: Sandbox, kind: ResolverKind, as_nobody: Callable[[], AbstractContextManager[None]]
) -> None:
    (sandbox.top / "ws").chmod(0o755)
    (sandbox.top / "ws/ok.txt").chmod(0)
    (sandbox.top / "ws/sub").chmod(0o600)
    with sandbox.rooted(kind) as rooted, as_nobody():
        for given in ("ok.txt", "sub/in.txt"):
            with pytest.raises(Fault) as fault:
                read(rooted, sandbox, given)
            assert (slug_of(fault), fault.value.data["errno_name"]) == (Slug.ACCESS_DENIED, "EACCES")
            assert fault.value.message.startswith("failed to read file: access denied")
        with pytest.raises(Fault) as fault:
            rooted.place(sandbox.path("new/x.txt"), make_parents=True)
        assert slug_of(fault) is Slug.ACCESS_DENIED


@both_resolvers
def test_a77_links_to_here_and_above_lead_to_the_one_file(sandbox: Sandbox, kind: ResolverKind) -> None:
    with sandbox.rooted(kind) as rooted, rooted.open_file(sandbox.path("sub/up/loop/sub/up/ok.txt")) as opened:
        assert opened.real == sandbox.ws + b"/ok.txt"


@both_resolvers
@pytest.mark.parametrize("name", ["deep", "deep_deep_deep_deep"])
def test_a78_a_tree_deeper_than_the_longest_path_does_no_harm(sandbox: Sandbox, kind: ResolverKind, name: str) -> None:
    step = name + "/"
    with dug(sandbox.ws, name, 1200), sandbox.rooted(kind) as rooted, no_leaks():
        (sandbox.top / "ws" / name / "link").symlink_to(step * 200 + "link2")
        assert read(rooted, sandbox, step * 50 + "needle") == b""
        for given in (step * 1200 + "needle", step * 300 + "needle", f"{name}/link"):
            with pytest.raises(Fault) as fault:
                read(rooted, sandbox, given)
            assert slug_of(fault) is Slug.INVALID_PATH
        with pytest.raises(Fault) as fault:
            rooted.place(sandbox.path(f"{name}/link/new.txt"), make_parents=True)
        assert slug_of(fault) is Slug.INVALID_PATH


@contextmanager
def dug(workspace: bytes, name: str, levels: int) -> Iterator[None]:
    """Make directories in each other; level 50 and the last hold `needle`, level 201 a link to far below."""
    try:
        _dig(workspace, name, levels)
        yield
    finally:  # rmtree would recurse once a level
        subprocess.run(["rm", "-rf", os.path.join(workspace, os.fsencode(name))], check=True)


def _dig(workspace: bytes, name: str, levels: int) -> None:
    fd = os.open(workspace, os.O_RDONLY)
    for level in range(1, levels + 1):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
        if level in (50, levels):
            os.close(os.open("needle", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=fd))
        if level == 201:
            os.symlink(f"{name}/" * 200 + name, "link2", dir_fd=fd)
    os.close(fd)


@both_resolvers
def test_a106_what_is_no_regular_file_is_named_at_once(sandbox: Sandbox, kind: ResolverKind) -> None:
    started = time.monotonic()
    rules = PathRules(sandbox.ws, allow_read=("^/dev/zero$", "^/proc/"))
    expected = {"fifo": "FIFO", "sub": "directory", "/dev/zero": "character device"}
    with sandbox.rooted(kind, rules) as rooted, no_leaks():
        for given, what in expected.items():
            with pytest.raises(Fault) as fault:
                read(rooted, sandbox, given)
            assert slug_of(fault) is Slug.NOT_A_FILE
            assert f"it is a {what}, not a regular file" in fault.value.message
        with pytest.raises(Fault, match="not a regular file"):
            read(rooted, sandbox, "sock")
        for given in ("/proc/self/mem", "/proc/cpuinfo"):
            with pytest.raises(Fault) as fault:
                read(rooted, sandbox, given)
            assert slug_of(fault) is Slug.PROTECTED_PATH
    assert time.monotonic() - started < 5


# Words


@both_resolvers
def test_outside_is_refused_in_the_same_words_whether_or_not_something_is_there(
    sandbox: Sandbox, kind: ResolverKind
) -> None:
    pairs = [("leak", "dangling_out"), ("{T}/out/secret.txt", "{T}/out/gone"), ("outdir/deep", "outdir/gone")]
    with sandbox.rooted(kind) as rooted:
        for there, gone in pairs:
            words = []
            for given in (there, gone):
                with pytest.raises(Fault) as fault:
                    read(rooted, sandbox, given)
                words.append(fault.value.message.replace(sandbox.path(given).given, "PATH"))
            assert words[0] == words[1]
            assert words[0].startswith("access denied: path is outside the workspace")
            assert sandbox.ws.decode() in words[0]


@both_resolvers
def test_a_link_in_an_allowed_directory_tells_nothing_of_what_lies_beyond(sandbox: Sandbox, kind: ResolverKind) -> None:
    rules = PathRules(sandbox.ws, allow_read=("/media/",), allow_write=("/media/",))
    with sandbox.rooted(kind, rules) as rooted:
        for given in ("{T}/media/l_out", "{T}/media/l_out_gone"):
            for action in (rooted.open_file, rooted.open_directory, rooted.place):
                with pytest.raises(Fault) as fault:
                    action(sandbox.path(given))
                assert slug_of(fault) is Slug.OUTSIDE_WORKSPACE
        with pytest.raises(Fault) as fault:
            read(rooted, sandbox, "{T}/media/l_gone")
        assert slug_of(fault) is Slug.NOT_FOUND


def test_the_words_that_callers_know_are_kept(sandbox: Sandbox) -> None:
    with sandbox.rooted() as rooted:
        with pytest.raises(Fault, match=r"^failed to read file: file not found \(gone\.txt\)"):
            read(rooted, sandbox, "gone.txt")
        with pytest.raises(Fault, match=r"^failed to list directory: directory not found"):
            rooted.open_directory(sandbox.path("gone"))
        with pytest.raises(Fault, match=r"^failed to write file: its directory does not exist"):
            rooted.place(sandbox.path("gone/x.txt"))


# Outside, where allowed


@both_resolvers
def test_an_unrestricted_policy_opens_the_outside_but_never_the_systems_secrets(
    sandbox: Sandbox, kind: ResolverKind
) -> None:
    with sandbox.rooted(kind, PathRules(sandbox.ws, restrict=False)) as rooted, no_leaks():
        assert read(rooted, sandbox, "leak") == SECRET
        assert read(rooted, sandbox, "{T}/out/../out/secret.txt") == SECRET
        assert read(rooted, sandbox, "outdir/deep/s.txt") == SECRET
        assert read(rooted, sandbox, "{T}/ws-link/in_abs") == b"ok\n"
        write(rooted, sandbox, "outdir/made/by/us.txt")
        write(rooted, sandbox, "dangling_out")
        assert (sandbox.top / "out/made/by/us.txt").read_bytes() == b"new"
        assert (sandbox.top / "out/newborn.txt").read_bytes() == b"new"
        for given in ("/etc/shadow", "/etc/sudoers", "/proc/self/environ", "leak_proc", "leak_magic/etc/shadow"):
            with pytest.raises(Fault) as fault:
                read(rooted, sandbox, given)
            assert slug_of(fault) is Slug.PROTECTED_PATH
        with pytest.raises(Fault) as fault:
            read(rooted, sandbox, "/dev/fd/0")
        assert slug_of(fault) in (Slug.SYMLINK_LOOP, Slug.PROTECTED_PATH, Slug.NOT_FOUND)


@both_resolvers
def test_an_allowed_directory_is_listed_by_a_pattern_with_its_slash(sandbox: Sandbox, kind: ResolverKind) -> None:
    rules = PathRules(sandbox.ws, allow_read=("/media/",))
    with sandbox.rooted(kind, rules) as rooted, no_leaks():
        for given in ("{T}/media", "{T}/media/", "{T}/media/sub/..", "to_media_dir", "{T}/media/sub"):
            with rooted.open_directory(sandbox.path(given)) as opened:
                assert stat.S_ISDIR(opened.stat.st_mode)
                assert opened.real.startswith(os.fsencode(sandbox.top / "media"))
        with pytest.raises(Fault) as fault:
            rooted.open_directory(sandbox.path("{T}/media/a.txt"))
        assert slug_of(fault) is Slug.NOT_A_DIRECTORY
        with pytest.raises(Fault) as fault:
            rooted.open_directory(sandbox.path("{T}/out"))
        assert slug_of(fault) is Slug.OUTSIDE_WORKSPACE


@both_resolvers
def test_a_write_entry_opens_writes_and_no_reads(sandbox: Sandbox, kind: ResolverKind) -> None:
    rules = PathRules(sandbox.ws, allow_write=(f"^{re.escape(str(sandbox.top))}/media/",))
    with sandbox.rooted(kind, rules) as rooted, no_leaks():
        write(rooted, sandbox, "{T}/media/made/new.txt")
        write(rooted, sandbox, "to_media_new")
        with rooted.open_file(sandbox.path("{T}/media/new.txt"), Access.WRITE) as opened:
            assert os.read(opened.fd, 10) == b"new"
        for given, action in (("{T}/media/a.txt", rooted.open_file), ("{T}/media/l_out", rooted.place)):
            with pytest.raises(Fault) as fault:
                action(sandbox.path(given))
            assert slug_of(fault) is Slug.OUTSIDE_WORKSPACE
        with pytest.raises(Fault) as fault:
            rooted.place(sandbox.path("{T}/media/none/../../out/x"), make_parents=True)
        assert slug_of(fault) is Slug.OUTSIDE_WORKSPACE


@both_resolvers
def test_where_the_outside_is_open_its_errors_are_named(sandbox: Sandbox, kind: ResolverKind) -> None:
    expected = {"{T}/media/a.txt/x": Slug.NOT_A_DIRECTORY, "{T}/media/sub": Slug.NOT_A_FILE, "/": Slug.NOT_A_FILE,
                "{T}/media/none/x": Slug.NOT_FOUND, "outdir/none/x": Slug.NOT_FOUND}  # fmt: skip
    with sandbox.rooted(kind, PathRules(sandbox.ws, restrict=False)) as rooted, no_leaks():
        for given, slug in expected.items():
            with pytest.raises(Fault) as fault:
                rooted.place(sandbox.path(given))
            assert slug_of(fault) is slug


def test_an_outside_file_that_may_not_be_read_is_access_denied(sandbox: Sandbox, injected: Injected) -> None:
    path = sandbox.path("{T}/media/secret")
    with sandbox.rooted(Openat2Resolver, PathRules(sandbox.ws, restrict=False)) as rooted, no_leaks():
        with injected("openat:error=EACCES"), pytest.raises(Fault) as fault:  # openat2 has seen the file by then
            rooted.open_file(path)
    assert (slug_of(fault), fault.value.data["errno_name"]) == (Slug.ACCESS_DENIED, "EACCES")


def test_a_link_swapped_while_an_error_is_worded_is_busy(sandbox: Sandbox, injected: Injected) -> None:
    path = sandbox.path("{T}/media/l_gone")
    with sandbox.rooted(Openat2Resolver, PathRules(sandbox.ws, restrict=False)) as rooted, no_leaks():
        with injected("readlink:error=EINVAL"), pytest.raises(Fault) as fault:
            rooted.open_file(path)
    assert slug_of(fault) is Slug.PATH_BUSY


@pytest.mark.parametrize("error", ["EINVAL", "ENOENT"])
def test_a_link_that_vanishes_while_it_is_followed_is_looked_up_again(
    sandbox: Sandbox, injected: Injected, error: str
) -> None:
    path = sandbox.path("in_rel")
    with sandbox.rooted(Openat2Resolver) as rooted, no_leaks():
        with injected(f"readlinkat:error={error}:when=1"), rooted.place(path) as place:
            assert place.name == b"ok.txt"
        with injected("readlinkat:error=EIO"), pytest.raises(Fault) as fault:
            rooted.place(path)
    assert (slug_of(fault), fault.value.data["errno_name"]) == (Slug.IO_ERROR, "EIO")


# Asking


@both_resolvers
def test_read_or_ask_asks_for_protected_names_wherever_the_name_appears(sandbox: Sandbox, kind: ResolverKind) -> None:
    with sandbox.rooted(kind) as rooted:
        for given in (".env", "to_env", ".netrc"):
            with rooted.open_file(sandbox.path(given), Access.READ_OR_ASK) as opened:
                assert isinstance(opened.verdict, Ask)
        with rooted.open_file(sandbox.path("ok.txt"), Access.READ_OR_ASK) as opened:
            assert opened.verdict == Allow()


@both_resolvers
def test_read_or_ask_asks_for_a_protected_name_that_a_link_only_passes(sandbox: Sandbox, kind: ResolverKind) -> None:
    (sandbox.top / "media/.env").symlink_to("a.txt")
    (sandbox.top / "ws/through").symlink_to(sandbox.top / "media/.env")
    with sandbox.rooted(kind, PathRules(sandbox.ws, allow_read_outside=True)) as rooted:
        with rooted.open_file(sandbox.path("through"), Access.READ_OR_ASK) as opened:
            assert isinstance(opened.verdict, Ask)


@both_resolvers
def test_confirm_globs_ask_and_create_no_parents_before_the_answer(sandbox: Sandbox, kind: ResolverKind) -> None:
    rules = PathRules(sandbox.ws, confirm_write_globs=(".claude/**",))
    (sandbox.top / "ws/innocent").symlink_to(".claude/new.json")
    with sandbox.rooted(kind, rules) as rooted:
        for given in (".claude/new.json", "innocent", "loop/.claude/new.json"):
            foreseen = rooted.foresee(sandbox.path(given))
            assert isinstance(foreseen.verdict, Ask)
            assert foreseen.missing == (b".claude",)
        assert not (sandbox.top / "ws/.claude").exists()
        assert rooted.foresee(sandbox.path("new.json")).verdict == Allow()


# Places


def test_a_place_has_a_key_that_every_spelling_shares(sandbox: Sandbox) -> None:
    keys = set()
    with sandbox.rooted() as rooted:
        for given in ("sub/in.txt", "in_dir/in.txt", "{T}/ws-link/sub/in.txt", "loop/sub/up/sub/in.txt"):
            with rooted.place(sandbox.path(given)) as place:
                keys.add(place.key)
    found = (sandbox.top / "ws/sub").stat()
    assert keys == {(found.st_dev, found.st_ino, b"in.txt")}


def test_a_place_notices_that_its_directory_was_moved_or_removed(sandbox: Sandbox) -> None:
    with sandbox.rooted() as rooted:
        with rooted.place(sandbox.path("sub/x")) as place:
            assert place.still_there()
            (sandbox.top / "ws/sub").rename(sandbox.top / "out/moved")
            assert not place.still_there()
        with rooted.place(sandbox.path("made/x"), make_parents=True) as place:
            (sandbox.top / "ws/made").rmdir()
            assert not place.still_there()


def test_new_parents_have_mode_0755(sandbox: Sandbox) -> None:
    before = os.umask(0)
    try:
        with sandbox.rooted() as rooted, rooted.place(sandbox.path("p/q/x"), make_parents=True) as place:
            assert stat.S_IMODE(os.fstat(place.dir_fd).st_mode) == 0o755
    finally:
        os.umask(before)
    assert stat.S_IMODE((sandbox.top / "ws/p").stat().st_mode) == 0o755


@both_resolvers
def test_an_entry_is_the_link_itself_and_may_be_of_any_kind(sandbox: Sandbox, kind: ResolverKind) -> None:
    with sandbox.rooted(kind) as rooted, no_leaks():
        for given, what in (("leak", stat.S_ISLNK), ("fifo", stat.S_ISFIFO), ("sub/", stat.S_ISDIR)):
            with rooted.entry(sandbox.path(given)) as place:
                assert place.stat is not None
                assert what(place.stat.st_mode)
        with rooted.entry(sandbox.path("gone")) as place:
            assert place.stat is None
        for given, slug in (("ok.txt/", Slug.NOT_A_DIRECTORY), ("none/x", Slug.NOT_FOUND), (".", Slug.NOT_A_FILE),
                            ("outdir/secret.txt", Slug.OUTSIDE_WORKSPACE), ("a/x", Slug.SYMLINK_LOOP)):  # fmt: skip
            with pytest.raises(Fault) as fault:
                rooted.entry(sandbox.path(given))
            assert slug_of(fault) is slug


def test_a_closed_handle_may_be_closed_again(sandbox: Sandbox) -> None:
    with sandbox.rooted() as rooted, no_leaks():
        opened = rooted.open_file(sandbox.path("ok.txt"))
        fd = opened.fd
        opened.close()
        opened.close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


# The root


def test_a_workspace_that_is_absent_or_no_real_path_is_root_gone(sandbox: Sandbox) -> None:
    for wrong in (b"/nowhere", os.fsencode(sandbox.top / "ws-link"), os.fsencode(sandbox.top / "ws/ok.txt")):
        with no_leaks(), pytest.raises(Fault) as fault:
            Rooted(wrong, Policy(PathRules(wrong)))
        assert slug_of(fault) is Slug.ROOT_GONE


@both_resolvers
@pytest.mark.parametrize("restrict", [True, False])
def test_a_root_that_was_moved_is_root_gone_for_every_action(
    sandbox: Sandbox, kind: ResolverKind, restrict: bool
) -> None:
    with sandbox.rooted(kind, PathRules(sandbox.ws, restrict=restrict)) as rooted:
        (sandbox.top / "ws").rename(sandbox.top / "elsewhere")
        (sandbox.top / "ws").mkdir()
        (sandbox.top / "ws/ok.txt").write_bytes(b"another\n")
        actions = (rooted.open_file, rooted.place, rooted.foresee, rooted.entry)
        for action in actions:
            for given in ("ok.txt", "gone.txt"):
                with no_leaks(), pytest.raises(Fault) as fault:
                    action(sandbox.path(given))
                assert slug_of(fault) is Slug.ROOT_GONE
        with pytest.raises(Fault) as fault:
            rooted.open_directory(sandbox.path("."))
        assert slug_of(fault) is Slug.ROOT_GONE


@both_resolvers
def test_a_root_that_was_removed_is_root_gone_and_not_made_again(tmp_path: Path, kind: ResolverKind) -> None:
    workspace = tmp_path.resolve() / "ws"
    workspace.mkdir()
    raw = os.fsencode(workspace)
    with Rooted(raw, Policy(PathRules(raw)), kind) as rooted:
        rooted.check_root()
        workspace.rmdir()
        box = Sandbox(tmp_path.resolve())
        for given in ("x", "p/q/x"):
            with pytest.raises(Fault) as fault:
                rooted.place(box.path(given), make_parents=True)
            assert slug_of(fault) is Slug.ROOT_GONE
        with pytest.raises(Fault) as fault:
            rooted.open_file(box.path("x"))
        assert slug_of(fault) is Slug.ROOT_GONE
    assert not workspace.exists()


def test_the_root_is_known_by_device_and_inode(sandbox: Sandbox) -> None:
    found = os.stat(sandbox.ws)
    with sandbox.rooted() as rooted:
        assert rooted.identity == (found.st_dev, found.st_ino)
        assert linux.fd_path(rooted.root_fd) == sandbox.ws


def test_a_new_policy_counts_from_the_next_call(sandbox: Sandbox) -> None:
    with sandbox.rooted() as rooted:
        rooted.policy = Policy(PathRules(sandbox.ws, unprotect=(r"^\.env$",)))
        assert read(rooted, sandbox, "to_env") == SECRET


def test_an_open_costs_little_more_than_its_system_calls(sandbox: Sandbox) -> None:
    # Typically 3 times; the bound is loose, for a busy machine disturbs short measurements.
    path = sandbox.path("d/" * 9 + "x.txt")
    with sandbox.rooted() as rooted:
        bare_s = min(_bare_open(rooted, path.relative or b"") for _ in range(300))
        full_s = min(_full_open(rooted, sandbox) for _ in range(300))
    assert full_s < 12 * bare_s


def _bare_open(rooted: Rooted, relative: bytes) -> float:
    started = time.perf_counter()
    fd = linux.openat2(rooted.root_fd, relative, os.O_RDONLY, 0, linux.RESOLVE_BENEATH)
    os.fstat(fd)
    os.close(fd)
    return time.perf_counter() - started


def _full_open(rooted: Rooted, sandbox: Sandbox) -> float:
    path = sandbox.path("d/" * 9 + "x.txt")
    started = time.perf_counter()
    with rooted.open_file(path):
        pass
    return time.perf_counter() - started


@pytest.mark.parametrize("given", ["ok.txt", "sub/new.txt", "sub", "subdir_in/new.txt", "missing.txt"])
def test_the_key_of_a_lock_is_the_same_without_waiting_for_a_disk(sandbox: Sandbox, given: str) -> None:
    (sandbox.top / "ws/subdir_in").symlink_to("sub")
    path = sandbox.path(given)
    with sandbox.rooted() as rooted, no_leaks():
        with rooted.entry(path) as place:
            assert rooted.key_at_hand(path) == place.key


@pytest.mark.parametrize("given", ["link_in", "sub/", "sub/.", "gone/x", "{T}/media/film.txt", "outdir/x", "."])
def test_a_key_that_only_a_longer_look_can_tell_is_not_at_hand(sandbox: Sandbox, given: str) -> None:
    (sandbox.top / "ws/link_in").symlink_to("ok.txt")
    with sandbox.rooted() as rooted, no_leaks():
        assert rooted.key_at_hand(sandbox.path(given)) is None


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (Access.READ, "failed to read file: "),
        (Access.READ_OR_ASK, "failed to read file: "),
        (Access.LIST, "failed to list directory: "),
        (Access.WRITE, "failed to write file: "),
    ],
)
def test_a_failure_says_what_was_tried(sandbox: Sandbox, access: Access, words: str) -> None:
    path = sandbox.path("gone/missing")
    with sandbox.rooted() as rooted, pytest.raises(Fault) as caught:
        if access is Access.LIST:
            rooted.open_directory(path)
        elif access is Access.WRITE:
            rooted.place(path)
        else:
            rooted.open_file(path, access)
    assert caught.value.message.startswith(words)


def test_a_socket_made_elsewhere_is_no_file_either(sandbox: Sandbox) -> None:
    rules = PathRules(sandbox.ws, restrict=False)
    with socket.socket(socket.AF_UNIX) as listener:
        fd = os.open(sandbox.top / "media", os.O_PATH)
        listener.bind(f"/proc/self/fd/{fd}/sock")
        os.close(fd)
        with sandbox.rooted(rules=rules) as rooted, pytest.raises(Fault, match="it is a socket"):
            read(rooted, sandbox, "{T}/media/sock")


def test_the_deepest_allowed_path_is_written_and_read(sandbox: Sandbox) -> None:
    given = "k/" * (limits.PATH_DEPTH_MAX - 1) + "x"
    with sandbox.rooted() as rooted, no_leaks():
        write(rooted, sandbox, given)
        assert read(rooted, sandbox, given) == b"new"


def test_a_file_that_is_exchanged_or_removed_between_open_and_look_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "moving.txt").write_text("now\n")
    root, real_path = os.fsencode(tmp_path.resolve()), linux.fd_path
    moved = [root + b"/.picoclawd.1.0123456789abcdef.tmp", b"/elsewhere/trash/7-moving.txt"]

    def at_first_elsewhere(fd: int) -> bytes | None:
        return moved.pop() if moved and stat.S_ISREG(os.fstat(fd).st_mode) else real_path(fd)

    with Rooted(root, Policy(PathRules(root))) as rooted:
        path = paths.parse("moving.txt", (root,))
        monkeypatch.setattr(linux, "fd_path", at_first_elsewhere)
        assert rooted.open_at_hand(path) is None
        with rooted.open_file(path) as opened:
            assert os.pread(opened.fd, 10, 0) == b"now\n"
        assert moved == []


def test_a_link_to_what_is_refused_stays_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("K=1")
    (tmp_path / "plain.txt").symlink_to(".env")
    root = os.fsencode(tmp_path.resolve())
    with Rooted(root, Policy(PathRules(root))) as rooted:
        path = paths.parse("plain.txt", (root,))
        assert rooted.open_at_hand(path) is None
        with pytest.raises(Fault) as caught:
            rooted.open_file(path)
    assert caught.value.slug is Slug.PROTECTED_PATH


@both_resolvers
@pytest.mark.parametrize("error", ["EIO", "EACCES", "ENOENT"])
def test_a_descriptor_whose_path_is_not_told_is_no_fault_of_the_callers_path(
    sandbox: Sandbox, injected: Injected, kind: ResolverKind, error: str
) -> None:
    """It was called a path that is too long, a workspace that was moved, or a link that leads outside."""
    ok, made, linked = (sandbox.path(given) for given in ("ok.txt", "none/new.txt", "in_abs"))
    outside = sandbox.path("{T}/media/a.txt")
    rules = PathRules(sandbox.ws, restrict=False)
    with sandbox.rooted(kind, rules) as rooted:
        calls: tuple[Callable[[], object], ...] = (
            lambda: rooted.open_file(ok),
            lambda: rooted.open_at_hand(ok),
            lambda: rooted.open_file(linked),
            lambda: rooted.open_file(outside),
            lambda: rooted.open_directory(sandbox.path("sub")),
            lambda: rooted.place(ok),
            lambda: rooted.place(made, make_parents=True),
            lambda: rooted.foresee(made),
            lambda: rooted.entry(ok),
            rooted.check_root,
        )
        for call in calls:
            with no_leaks(), injected(f"readlink:error={error}"), pytest.raises(Fault) as fault:
                call()
            assert (slug_of(fault), fault.value.data["errno_name"]) == (Slug.IO_ERROR, error)
            assert "/proc" in fault.value.message and "not found" not in fault.value.message


def test_what_cannot_be_opened_once_more_without_proc_is_not_called_missing(
    sandbox: Sandbox, injected: Injected
) -> None:
    """openat2 sees it, then openat opens what was seen."""
    path = sandbox.path("{T}/media/a.txt")
    with sandbox.rooted(Openat2Resolver, PathRules(sandbox.ws, restrict=False)) as rooted, no_leaks():
        with injected("openat:error=ENOENT"), pytest.raises(Fault) as fault:
            rooted.open_file(path)
    assert (slug_of(fault), fault.value.data["errno_name"]) == (Slug.IO_ERROR, "ENOENT")


def test_a_place_whose_path_is_not_told_is_not_called_moved(sandbox: Sandbox, injected: Injected) -> None:
    with sandbox.rooted() as rooted, rooted.place(sandbox.path("ok.txt")) as place:
        with injected("readlink:error=EIO"), pytest.raises(OSError) as error:
            place.still_there()
        assert error.value.errno == errno.EIO
        assert place.still_there()


def test_a_workspace_whose_path_is_not_told_at_the_start_is_not_called_moved(
    sandbox: Sandbox, injected: Injected
) -> None:
    with no_leaks(), injected("readlink:error=EIO"), pytest.raises(Fault) as fault:
        Rooted(sandbox.ws, Policy(PathRules(sandbox.ws)))
    assert slug_of(fault) is Slug.IO_ERROR
