"""The house rules that a script can hold: floors, circles, and one module for each library."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "picoclawd"

# A module imports from its own floor and from floors below.
FLOORS = {
    "errors": 0,
    "limits": 0,
    "text": 1,
    "files": 2,
    "index": 2,
    "history": 2,
    "documents": 2,
    "speech": 2,
    "programs": 2,
    "service": 2,
    "workspace": 3,
    "tools": 4,
    "rpc": 5,
    "daemon": 6,
    "client": 7,
}
# `python -m picoclawd` only hands over to the daemon.
FLOORS["__main__"] = FLOORS["daemon"]

# Floor 1 computes and does nothing else; floor 0 has nothing but the standard library.
PURE_FORBIDDEN = {"os", "pathlib", "shutil", "subprocess", "socket", "trio", "time", "datetime", "threading"}

# One library, one module: who may import it. A name ending in "." stands for the modules below it.
OWNERS = {
    "jsonrpcserver": {"rpc."},
    "watchfiles": {"index.watcher_child"},
    "re2": {"index.matcher"},
    "hyperscan": {"index.matcher"},
    "numpy": {"index.dense", "index.trigrams"},
    "sqlite3": {"history."},
    "ctypes": {"files.linux"},
    "chardet": {"documents.charset"},
    "docx": {"documents.docx"},
    "mcp": {"client."},
    "PIL": {"documents.image"},
    "pptx": {"documents.pptx"},
    "pypdfium2": {"documents.pdf"},
    "httpx2": {"service"},
    "pocketsphinx": {"speech.worker"},
    "miniaudio": {"speech.worker"},
    "rich": {"client."},
    "h11": {"client.web.exchange"},
}


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name below the package, and what it imports, outside of type checking."""

    name: str
    tree: ast.Module

    @property
    def floor(self) -> int:
        return FLOORS[self.name.split(".")[0]]

    def imports(self) -> Iterator[str]:
        """Dotted names; for `from a import b` both `a.b`, which may be a module, and so `a`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def found() -> list[Module]:
    """Every module of the package but the packages' own `__init__`."""
    made = []
    for path in sorted(ROOT.rglob("*.py")):
        if path.name != "__init__.py":
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            made.append(Module(name, ast.parse(path.read_text(encoding="utf-8"), str(path))))
    return made


MODULES = found()
NAMES = {module.name for module in MODULES}


def own(name: str) -> str | None:
    """The module or folder of ours that an imported name means, below the package; None for a library's."""
    if name != "picoclawd" and not name.startswith("picoclawd."):
        return None
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in NAMES and not ROOT.joinpath(*parts).is_dir():
        parts.pop()
    return ".".join(parts)


def ours(module: Module) -> set[str]:
    """The modules and folders of ours that a module imports."""
    return {target for name in module.imports() if (target := own(name))}


def libraries(module: Module) -> set[str]:
    """The top names of everything else that a module imports."""
    return {name.split(".")[0] for name in module.imports() if own(name) is None}


def test_every_module_has_a_floor() -> None:
    assert {module.name.split(".")[0] for module in MODULES} <= set(FLOORS)


def test_imports_are_absolute() -> None:
    assert not [(module.name, name) for module in MODULES for name in module.imports() if name.startswith(".")]


def test_imports_go_downwards() -> None:
    upwards = [
        f"{module.name} imports {target}"
        for module in MODULES
        for target in ours(module)
        if FLOORS[target.split(".")[0]] > module.floor
    ]
    assert not upwards


def test_the_client_reaches_the_daemon_over_the_socket_only() -> None:
    allowed = {"client", "errors", "limits", "text"}
    clients = [module for module in MODULES if module.name.startswith("client.")]
    assert not [(module.name, t) for module in clients for t in ours(module) if t.split(".")[0] not in allowed]


def test_text_computes_and_does_nothing_else() -> None:
    pure = [module for module in MODULES if module.floor <= 1]
    assert not [
        (module.name, libraries(module) & PURE_FORBIDDEN) for module in pure if libraries(module) & PURE_FORBIDDEN
    ]


def test_a_tool_imports_no_other_tool() -> None:
    tools = [module for module in MODULES if module.name.startswith("tools.")]
    assert not [
        f"{module.name} imports {target}"
        for module in tools
        for target in ours(module)
        if target.startswith("tools.") and not target.startswith("tools._")
    ]


def test_only_its_owner_imports_a_library() -> None:
    strangers = [
        f"{module.name} imports {library}; only {', '.join(owners)} may"
        for module in MODULES
        for library in libraries(module)
        if (owners := OWNERS.get(library)) and not any(_owns(module, owner) for owner in owners)
    ]
    assert not strangers


def _owns(module: Module, owner: str) -> bool:
    return module.name.startswith(owner) if owner.endswith(".") else module.name == owner


@pytest.mark.parametrize("library", ["jsonrpcserver", "sqlite3"])
def test_one_library_has_one_module(library: str) -> None:
    assert len([module.name for module in MODULES if library in libraries(module)]) <= 1


def test_imports_make_no_circle() -> None:
    graph = {module.name: ours(module) & NAMES for module in MODULES}
    while graph:
        leaves = {name for name, targets in graph.items() if targets.isdisjoint(graph.keys() - {name})}
        assert leaves, f"a circle among {sorted(graph)}"
        for name in leaves:
            del graph[name]


def test_a_packages_init_holds_a_docstring_and_no_code() -> None:
    for path in ROOT.rglob("__init__.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        if path.parent == ROOT / "client":  # the library's names, each imported when it is asked for
            assert not [node for node in body if isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)][1:]
            continue
        assert len(body) == 1, f"{path} holds code"
        assert isinstance(body[0], ast.Expr)


def test_every_module_says_what_it_is() -> None:
    assert not [module.name for module in MODULES if not ast.get_docstring(module.tree)]


def test_no_function_is_over_50_lines() -> None:
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    assert not [
        f"{module.name}.{node.name}"
        for module in MODULES
        for node in ast.walk(module.tree)
        if isinstance(node, functions) and (node.end_lineno or node.lineno) - node.lineno > 50
    ]
