"""A workspace full of traps beside directories that nobody may reach, and the table of what each path must give."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from picoclawd.errors import Slug
from picoclawd.files import paths
from picoclawd.files.policy import PathRules as Rules
from picoclawd.files.policy import Policy
from picoclawd.files.resolve import Openat2Resolver, ResolverKind, WalkResolver
from picoclawd.files.rooted import Rooted

RESOLVERS: tuple[ResolverKind, ...] = (Openat2Resolver, WalkResolver)

SECRET = b"top secret\n"
LONGEST_NAME = "n" * 255
DEEP = "d/" * 9


@dataclass(frozen=True, slots=True)
class Sandbox:
    """`top` holds `ws` (the workspace), `ws-evil`, `out` and `media`; `ws-link` is a link to the workspace."""

    top: Path

    @property
    def ws(self) -> bytes:
        return os.fsencode(self.top / "ws")

    @property
    def roots(self) -> tuple[bytes, ...]:
        return (self.ws, os.fsencode(self.top / "ws-link"))

    def path(self, given: str | bytes) -> paths.WsPath:
        """Parse; `{T}` in a text stands for the directory that holds everything."""
        if isinstance(given, str):
            given = given.replace("{T}", str(self.top))
        return paths.parse(given, self.roots)

    def rooted(self, kind: ResolverKind | None = None, rules: Rules | None = None) -> Rooted:
        return Rooted(self.ws, Policy(rules or Rules(self.ws)), kind, aliases=self.roots[1:])

    def outside(self) -> dict[str, bytes | None]:
        """Everything outside the workspace, to show that it stayed as it was."""
        found = [entry for part in ("out", "ws-evil", "media") for entry in (self.top / part).rglob("*")]
        return {str(entry): None if entry.is_dir() or entry.is_symlink() else entry.read_bytes() for entry in found}


def build(top: Path) -> Sandbox:
    """Make the whole tree below `top`."""
    for directory in ("ws/sub/inner", "ws/.SSH", "ws/.git/hooks", "ws/.picoclaw", "ws/sessions", "ws/.config/gh",
                      "ws/.docker", "ws/" + DEEP, "out/deep", "ws-evil", "media/sub"):  # fmt: skip
        (top / directory).mkdir(parents=True, exist_ok=True)
    for name, data in _files().items():
        (top / name).write_bytes(data)
    for name, target in _links().items():
        (top / name).symlink_to(target.replace("{T}", str(top)))
    ws = os.fsencode(top / "ws")
    for raw in (b"caf\xe9.txt", b"a\nb.txt", b"-rf", b"sp ace.txt", b"back\\slash", b"*", b"~"):
        with open(os.path.join(ws, raw), "wb") as new:
            new.write(b"odd\n")
    os.mkfifo(top / "ws/fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        fd = os.open(top / "ws", os.O_PATH)
        listener.bind(f"/proc/self/fd/{fd}/sock")  # tmp_path may be longer than a socket's address
        os.close(fd)
    os.link(top / "out/secret.txt", top / "ws/hard.txt")
    return Sandbox(top)


def _files() -> dict[str, bytes]:
    plain = ("ws/ok.txt", "ws/sub/in.txt", "ws/sub/inner/far.txt", f"ws/{DEEP}x.txt", f"ws/{LONGEST_NAME}",
             "ws/id_rsa.pub", "ws/.env.example", "ws/.git/config", "ws/.picoclaw/note", "ws/sessions/one", "ws/empty",
             "ws/.gitignore", "ws/monkey", "ws/.environment", "ws/.config/gh2")  # fmt: skip
    secret = ("out/secret.txt", "out/deep/s.txt", "ws-evil/x.txt", "ws/.env", "ws/.ENV.local", "ws/.SSH/Id_Rsa",
              "ws/.SSH/config", "ws/AUTHORIZED_KEYS", "ws/server.PEM", "ws/.config/gh/hosts.yml", "media/secret",
              "ws/.docker/config.json", "ws/.picoclawd.12.0a1b.tmp")  # fmt: skip
    return dict.fromkeys(plain, b"ok\n") | dict.fromkeys(secret, SECRET) | {"media/a.txt": b"media\n"}


def _links() -> dict[str, str]:
    named = {
        "ws-link": "{T}/ws",
        "ws/leak": "{T}/out/secret.txt",
        "ws/leak_rel": "../out/secret.txt",
        "ws/sub/leak_up": "../../out/secret.txt",
        "ws/leak_long": "sub/inner/../../../out/secret.txt",
        "ws/leak_chain": "leak_rel",
        "ws/leak_via": "outdir/secret.txt",
        "ws/leak_etc": "/etc/passwd",
        "ws/leak_proc": "/proc/self/environ",
        "ws/leak_magic": "/proc/self/root",
        "ws/leak_slash": "/",
        "ws/outdir": "{T}/out",
        "ws/outdir_rel": "../out",
        "ws/outdir_slash": "{T}/out/",
        "ws/parent": "..",
        "ws/parent_abs": "{T}",
        "ws/evil": "../ws-evil/x.txt",
        "ws/evil_abs": "{T}/ws-evil/x.txt",
        "ws/evil_dotdot": "{T}/ws/../ws-evil/x.txt",
        "ws/in_rel": "ok.txt",
        "ws/in_abs": "{T}/ws/ok.txt",
        "ws/in_alias": "{T}/ws-link/ok.txt",
        "ws/in_round": "../ws/ok.txt",
        "ws/in_lexical": "{T}/out/../ws/ok.txt",
        "ws/in_abs_dotdot": "{T}/ws/sub/../ok.txt",
        "ws/in_abs_slashes": "{T}/ws//sub/./in.txt",
        "ws/in_dir": "sub",
        "ws/in_dir_abs": "{T}/ws/sub",
        "ws/in_dir_slash": "sub/",
        "ws/in_far": "in_dir_abs/inner/far.txt",
        "ws/in_two": "in_abs",
        "ws/sub/in_up": "../ok.txt",
        "ws/root": "{T}/ws",
        "ws/loop": ".",
        "ws/sub/up": "..",
        "ws/file_slash": "ok.txt/",
        "ws/a": "b",
        "ws/b": "a",
        "ws/self": "self",
        "ws/self_abs": "{T}/ws/self_abs",
        "ws/into_loop": "a/x",
        "ws/dangling": "newborn.txt",
        "ws/dangling_abs": "{T}/ws/newborn.txt",
        "ws/dangling_dir": "newdir/newborn.txt",
        "ws/dangling_sub": "sub/newborn.txt",
        "ws/dangling_dotdot": "sub/../newborn.txt",
        "ws/dangling_lost": "nowhere/../newborn.txt",
        "ws/dangling_slash": "newdir/",
        "ws/dangling_out": "{T}/out/newborn.txt",
        "ws/dangling_out_rel": "../out/newborn.txt",
        "ws/dangling_out_dir": "../out/newdir/newborn.txt",
        "ws/nodir": "newdir",
        "ws/to_env": ".env",
        "ws/to_ssh": ".SSH",
        "ws/to_git": ".git/config",
        "ws/to_sessions": "sessions",
        "ws/to_temp": ".picoclawd.12.0a1b.tmp",
        "ws/.netrc": "ok.txt",
        "ws/l40": "l39",
        "ws/sub/.key": "in.txt",
        "ws/to_fifo": "fifo",
        "ws/.cfg": "ok.txt",
        "media/l": "secret",
        "media/l_gone": "not_there",
        "media/l_abs": "{T}/media/a.txt",
        "media/l_ws": "{T}/ws/ok.txt",
        "media/l_out": "{T}/out/secret.txt",
        "media/l_out_gone": "{T}/out/not_there",
        "ws/to_media": "{T}/media/a.txt",
        "ws/to_media_rel": "../media/a.txt",
        "ws/to_media_out": "{T}/media/l_out",
        "ws/to_media_new": "{T}/media/new.txt",
        "ws/to_media_dir": "../media",
    }
    chain = {f"ws/l{index}": f"l{index - 1}" for index in range(2, 42)}
    return named | chain | {"ws/l1": "ok.txt"}


OUT = Slug.OUTSIDE_WORKSPACE
GUARDED = Slug.PROTECTED_PATH
ABSENT = Slug.NOT_FOUND
BAD = Slug.INVALID_PATH
LOOP = Slug.SYMLINK_LOOP
NOT_DIR = Slug.NOT_A_DIRECTORY
NOT_FILE = Slug.NOT_A_FILE

OK = b"ok\n"
ODD = b"odd\n"

# What a read gives: the bytes, or why not.
READS: dict[str | bytes, bytes | Slug] = {
    "ok.txt": OK,
    "./ok.txt": OK,
    ".//ok.txt": OK,
    "sub/../ok.txt": OK,
    "sub/inner/../../ok.txt": OK,
    "nowhere/../ok.txt": OK,
    "sub/./in.txt": OK,
    "sub//in.txt": OK,
    "../ws/ok.txt": OK,
    "../../{T}/ws/ok.txt": OUT,
    "{T}/ws/ok.txt": OK,
    "{T}/ws//ok.txt": OK,
    "//{T}/ws/ok.txt": OK,
    "{T}/ws-link/ok.txt": OK,
    "{T}/ws/../ws/ok.txt": OK,
    "{T}/out/../ws/ok.txt": OK,
    "{T}/nowhere/../ws/ok.txt": OK,
    f"{DEEP}x.txt": OK,
    LONGEST_NAME: OK,
    "empty": OK,
    "~": ODD,
    "*": ODD,
    "-rf": ODD,
    "sp ace.txt": ODD,
    "a\nb.txt": ODD,
    "back\\slash": ODD,
    b"caf\xe9.txt": ODD,
    b"ok.txt": OK,
    "hard.txt": SECRET,  # reads of hard links are allowed: nobody can tell which name was first
    # links inside
    "in_rel": OK,
    "in_abs": OK,
    "in_alias": OK,
    "in_round": OK,
    "in_lexical": OK,
    "in_abs_dotdot": OK,
    "in_abs_slashes": OK,
    "in_dir/in.txt": OK,
    "in_dir_abs/in.txt": OK,
    "in_dir_slash/in.txt": OK,
    "in_far": OK,
    "in_two": OK,
    "sub/in_up": OK,
    "root/ok.txt": OK,
    "root/root/ok.txt": OK,
    "loop/loop/loop/ok.txt": OK,
    "sub/up/sub/up/ok.txt": OK,
    "loop/in_abs": OK,
    "l1": OK,
    "l40": OK,
    ".cfg": OK,
    # lexical normalisation: a11
    "outdir/../ok.txt": OK,
    "in_dir/../ok.txt": OK,
    "outdir/../out/secret.txt": ABSENT,
    # out of the workspace
    "../out/secret.txt": OUT,
    "../ws-evil/x.txt": OUT,
    "./../ws-evil/x.txt": OUT,
    "sub/../../ws-evil/x.txt": OUT,
    "{T}/ws-evil/x.txt": OUT,
    "{T}/ws/../ws-evil/x.txt": OUT,
    "{T}/ws-evi": OUT,
    "{T}/w": OUT,
    "{T}": OUT,
    "..": OUT,
    "../": OUT,
    "/": OUT,
    "//": OUT,
    "/..": OUT,
    "/etc/passwd": OUT,
    "/etc/shadow": OUT,
    "/proc/self/mem": OUT,
    "/dev/zero": OUT,
    "../../../../../../../../../../../../etc/passwd": OUT,
    "{T}/out/not_there": OUT,
    "{T}/media/a.txt": OUT,
    "leak": OUT,
    "leak_rel": OUT,
    "sub/leak_up": OUT,
    "leak_long": OUT,
    "leak_chain": OUT,
    "leak_via": OUT,
    "leak_etc": OUT,
    "leak_proc": OUT,
    "leak_magic": OUT,
    "leak_magic/etc/passwd": OUT,
    "leak_slash/etc/passwd": OUT,
    "loop/leak": OUT,
    "root/leak": OUT,
    "sub/up/leak": OUT,
    "outdir/secret.txt": OUT,
    "outdir_rel/secret.txt": OUT,
    "outdir_slash/secret.txt": OUT,
    "outdir/deep/s.txt": OUT,
    "outdir/not_there": OUT,
    "outdir": OUT,
    "outdir/": OUT,
    "parent": OUT,
    "parent/out/secret.txt": OUT,
    "parent_abs/out/secret.txt": OUT,
    "parent/ws/ok.txt": OK,
    "parent_abs/ws/ok.txt": OK,
    "evil": OUT,
    "evil_abs": OUT,
    "evil_dotdot": OUT,
    "dangling_out": OUT,
    "dangling_out_rel": OUT,
    "to_media": OUT,
    # absent
    "not_there": ABSENT,
    "not_there/": ABSENT,
    "sub/not_there": ABSENT,
    "not/there": ABSENT,
    "~/ok.txt": NOT_DIR,
    "OK.TXT": ABSENT,
    "ok.txt ": ABSENT,
    "dangling": ABSENT,
    "dangling_abs": ABSENT,
    "dangling_dir": ABSENT,
    "nodir/x": ABSENT,
    # no files
    "": BAD,
    " ": BAD,
    "\t\n": BAD,
    "a\0b": BAD,
    "ok.txt\0": BAD,
    "\ud800": BAD,
    b"": BAD,
    b"a\0": BAD,
    "n" * 256: BAD,
    "é" * 128: BAD,
    "x/" * 2100: BAD,
    "d/" * 257 + "x": BAD,
    "d/" * 255 + "x": ABSENT,
    "./" * 300 + "ok.txt": OK,
    ".": NOT_FILE,
    "./": NOT_FILE,
    "sub": NOT_FILE,
    "sub/": NOT_FILE,
    "sub/.": NOT_FILE,
    "sub/inner/..": NOT_FILE,
    "{T}/ws": NOT_FILE,
    "{T}/ws-link/": NOT_FILE,
    "loop": NOT_FILE,
    "root": NOT_FILE,
    "in_dir": NOT_FILE,
    "in_dir_slash": NOT_FILE,
    "sub/up": NOT_FILE,
    "fifo": NOT_FILE,
    "to_fifo": NOT_FILE,
    "sock": NOT_FILE,
    "ok.txt/": NOT_DIR,
    "ok.txt/.": NOT_DIR,
    "ok.txt/x": NOT_DIR,
    "in_abs/": NOT_DIR,
    "in_abs/x": NOT_DIR,
    "file_slash": NOT_DIR,
    "fifo/x": NOT_DIR,
    # loops
    "a": LOOP,
    "b": LOOP,
    "a/x": LOOP,
    "self": LOOP,
    "self_abs": LOOP,
    "into_loop": LOOP,
    "l41": LOOP,
    # protected, by the name asked for and by the name found
    ".env": GUARDED,
    ".ENV": GUARDED,
    ".Env.local": GUARDED,
    ".env/": GUARDED,
    "sub/.env": GUARDED,
    ".env/bin/python": GUARDED,
    ".SSH/Id_Rsa": GUARDED,
    ".ssh/id_rsa": GUARDED,
    ".SSH/config": GUARDED,
    ".SSH": GUARDED,
    "sub/../.SSH/config": GUARDED,
    "{T}/ws/.SSH/config": GUARDED,
    "{T}/ws-link/.SSH/config": GUARDED,
    "AUTHORIZED_KEYS": GUARDED,
    "authorized_keys": GUARDED,
    "server.PEM": GUARDED,
    ".config/gh/hosts.yml": GUARDED,
    ".docker/config.json": GUARDED,
    "to_env": GUARDED,
    "to_ssh/config": GUARDED,
    "loop/.env": GUARDED,
    "root/.env": GUARDED,
    ".netrc": GUARDED,
    "sub/.key": GUARDED,
    ".picoclawd.12.0a1b.tmp": GUARDED,
    "to_temp": GUARDED,
    # beside protected names
    "id_rsa.pub": OK,
    ".env.example": OK,
    ".environment": OK,
    ".config/gh2": OK,
    ".gitignore": OK,
    "monkey": OK,
    ".git/config": OK,
    "to_git": OK,
    ".picoclaw/note": OK,
    "sessions/one": OK,
}

# What a write of b"new" gives: the path below the workspace that then holds it, or why not.
WRITES: dict[str | bytes, str | Slug] = {
    "new.txt": "new.txt",
    "ok.txt": "ok.txt",
    "{T}/ws/new.txt": "new.txt",
    "{T}/ws-link/new.txt": "new.txt",
    "made/by/us/new.txt": "made/by/us/new.txt",
    "sub/made/../new.txt": "sub/new.txt",
    "outdir/../new.txt": "new.txt",
    "in_dir/new.txt": "sub/new.txt",
    "in_dir_abs/made/new.txt": "sub/made/new.txt",
    "loop/sub/up/new.txt": "new.txt",
    "in_rel": "ok.txt",
    "in_abs": "ok.txt",
    "in_alias": "ok.txt",
    "in_round": "ok.txt",
    "in_far": "sub/inner/far.txt",
    "l40": "ok.txt",
    "l41": LOOP,
    "dangling": "newborn.txt",
    "dangling_abs": "newborn.txt",
    "dangling_dir": "newdir/newborn.txt",
    "dangling_sub": "sub/newborn.txt",
    "dangling_dotdot": "newborn.txt",
    "loop/dangling_abs": "newborn.txt",
    "dangling_lost": ABSENT,
    "dangling_slash": ABSENT,
    "nodir/new.txt": ABSENT,
    "nodir": "newdir",
    b"n\xe9w": "n\udce9w",
    "w" * 255: "w" * 255,
    "w" * 256: BAD,
    "id_rsa.pub": "id_rsa.pub",
    ".gitignore": ".gitignore",
    ".github/x": ".github/x",
    "sub/sessions/x": "sub/sessions/x",
    "sub/.picoclaw/x": "sub/.picoclaw/x",
    # out of the workspace
    "../out/new.txt": OUT,
    "../ws-evil/new.txt": OUT,
    "{T}/out/secret.txt": OUT,
    "outdir/new.txt": OUT,
    "outdir/sub/new.txt": OUT,
    "outdir_rel/a/b/c/new.txt": OUT,
    "outdir_slash/new.txt": OUT,
    "parent/out/new.txt": OUT,
    "parent/new.txt": OUT,
    "parent": OUT,
    "outdir": OUT,
    "leak": OUT,
    "leak_rel": OUT,
    "leak_chain": OUT,
    "leak_via": OUT,
    "dangling_out": OUT,
    "dangling_out_rel": OUT,
    "dangling_out_dir": OUT,
    "loop/dangling_out": OUT,
    "to_media": OUT,
    "to_media_new": OUT,
    "/proc/self/mem": OUT,
    # no files
    "new.txt/": BAD,
    "new.txt/.": BAD,
    "ok.txt/": NOT_DIR,
    "ok.txt/new": NOT_DIR,
    "sub": NOT_FILE,
    "sub/": NOT_FILE,
    ".": NOT_FILE,
    "{T}/ws": NOT_FILE,
    "loop": NOT_FILE,
    "root": NOT_FILE,
    "in_dir_slash": NOT_FILE,
    "sub/up": NOT_FILE,
    "fifo": NOT_FILE,
    "sock": NOT_FILE,
    "a": LOOP,
    "a/x": LOOP,
    "self_abs": LOOP,
    # refused, by the name asked for and by the name found
    ".env": GUARDED,
    ".Env": GUARDED,
    ".SSH/new": GUARDED,
    ".ssh/made/new": GUARDED,
    "to_env": GUARDED,
    "to_ssh/new": GUARDED,
    "to_git": GUARDED,
    "to_sessions/x": GUARDED,
    ".git/hooks/pre-commit": GUARDED,
    ".GIT/config": GUARDED,
    "sub/.git": GUARDED,
    "sub/.git/made/x": GUARDED,
    "sessions/x": GUARDED,
    "Sessions/x": GUARDED,
    "sessions": GUARDED,
    ".picoclaw/x": GUARDED,
    ".picoclaw": GUARDED,
    "loop/.picoclaw/x": GUARDED,
    ".picoclawd.1.ab.tmp": GUARDED,
    "new.key": GUARDED,
}

# What a listing gives: a name that it must hold, or why not.
LISTS: dict[str | bytes, bytes | Slug] = {
    ".": b"ok.txt",
    "./": b"ok.txt",
    "sub": b"in.txt",
    "sub/": b"in.txt",
    "in_dir": b"in.txt",
    "in_dir_abs": b"in.txt",
    "in_dir_slash/": b"in.txt",
    "sub/up": b"ok.txt",
    "root": b"ok.txt",
    "{T}/ws": b"ok.txt",
    ".git": b"config",
    "..": OUT,
    "outdir": OUT,
    "outdir/deep": OUT,
    "outdir_rel/": OUT,
    "parent": OUT,
    "leak": OUT,
    "leak_magic": OUT,
    "{T}/nowhere": OUT,
    "ok.txt": NOT_DIR,
    "fifo": NOT_DIR,
    "not_there": ABSENT,
    "nodir": ABSENT,
    "a": LOOP,
    ".SSH": GUARDED,
    ".ssh": GUARDED,
    "to_ssh": GUARDED,
    ".config/gh": GUARDED,
}


@contextmanager
def racing(body: str, *arguments: str) -> Iterator[None]:
    """Run the Python statements `body` over and over in another process; `argv` holds `arguments`, `fd` the first."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    program = (
        "import os, sys\nfrom picoclawd.files import linux\n"
        "argv = sys.argv[1:]\nfd = os.open(argv[0], os.O_RDONLY)\nprint(flush=True)\nwhile True:\n" + lines
    )
    with subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE) as racer:
        try:
            assert racer.stdout is not None
            assert racer.stdout.readline() == b"\n", "the racer did not start"
            yield
            assert racer.poll() is None, "the racer died, so nothing was raced"
        finally:
            racer.kill()
