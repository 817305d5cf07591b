"""Small wrong changes to a module's text, one at a time, each with a name by which people and lists know it.

What is changed: comparisons, boolean, arithmetic and bit operators (so every flag of an open(2) is left out once),
numbers, words and bytes, conditions, results, statements without a result, keyword arguments, sorting, `with` and
`except`.

What is left alone: what people read (docstrings, text with blanks, formatted text), annotations, imports, decorators,
class headers and the defaults of fields, assertions, and two flags: O_CLOEXEC, which Python's os.open and
`linux.openat2` add, and O_RDONLY, which is 0.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

_COMPARED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
_OPPOSITE: dict[type[ast.cmpop], ast.cmpop] = {
    **_COMPARED,
    ast.Lt: ast.GtE(),
    ast.LtE: ast.Gt(),
    ast.Gt: ast.LtE(),
    ast.GtE: ast.Lt(),
}
_COUNTED: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.FloorDiv(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.FloorDiv(),
    ast.LShift: ast.RShift(),
    ast.RShift: ast.LShift(),
}
_OF_SETS = (ast.BitOr, ast.BitAnd, ast.BitXor, ast.Sub)  # also: either side alone
# `while True` is no condition: with its opposite the function would only end without a result.
_CONDITIONS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.If: ("test",),
    ast.While: ("test",),
    ast.IfExp: ("test",),
    ast.comprehension: ("ifs",),
    ast.match_case: ("guard",),
}
_SKIPPED_FIELDS = frozenset({"decorator_list", "annotation", "returns", "bases", "type_comment"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TEXT_MAX = 100  # characters of a name


class Mutant(msgspec.Struct, frozen=True):
    """One change. `number` finds it again in the same text; `name` also in a text that changed elsewhere.

    `lines` are those that the changed statement is on, 1-based; `function` is the one around it, with its class, empty
    at the level of the module.
    """

    module: str
    number: int
    function: str
    what: str
    lines: tuple[int, int]

    @property
    def name(self) -> str:
        """The change as `survivors.md` lists it."""
        return f"{self.module} `{self.function or 'module'}`: {self.what}"


@dataclass(frozen=True)
class _Edit:
    """`new` takes the place of `old` in a field of `parent`: in its list at `index`, where there is one."""

    parent: ast.AST
    field: str
    index: int | None
    old: ast.AST
    new: ast.AST | None
    gone: str | None = None  # what the change leaves out, where that says more than `old` and `new`

    @property
    def what(self) -> str:
        return f"`{_short(self.gone or _told(self.old))}` becomes `{'nothing' if self.gone else _told(self.new)}`"

    def make(self) -> None:
        if self.index is None:
            setattr(self.parent, self.field, self.new)
        elif self.new is None:
            del getattr(self.parent, self.field)[self.index]
        else:
            getattr(self.parent, self.field)[self.index] = self.new


@dataclass(frozen=True)
class _Around:
    """What lies around a node: the function with its class, and the statement."""

    function: str
    statement: ast.stmt | None
    in_class: bool = False


def mutants_of(module: str, text: str) -> list[Mutant]:
    """All mutants of a module, in the order of its text."""
    found: list[Mutant] = []
    names: Counter[tuple[str, str]] = Counter()
    for number, (around, edit) in enumerate(_edits(ast.parse(text))):
        what = edit.what
        names[around.function, what] += 1
        nth = names[around.function, what]
        statement = around.statement
        assert statement is not None
        lines = (statement.lineno, _header_end(statement))
        found.append(Mutant(module, number, around.function, what if nth == 1 else f"{what} (no. {nth})", lines))
    return found


def mutated(text: str, number: int) -> ast.Module:
    """The module with this mutant in it; its lines are those of the text."""
    tree = ast.parse(text)
    for at, (_, edit) in enumerate(_edits(tree)):
        if at == number:
            edit.make()
            return ast.fix_missing_locations(tree)
    raise ValueError(f"there is no mutant {number}")


def _told(node: ast.AST | None) -> str:
    return "nothing" if node is None else _short(ast.unparse(node))


def _short(text: str) -> str:
    text = " ".join(text.split()).replace("`", "'")
    return text if len(text) <= _TEXT_MAX else text[: _TEXT_MAX - 1] + "…"


def _header_end(statement: ast.stmt) -> int:
    """The last line before the body of a statement that has one, else its own last, as of a function."""
    body = None if isinstance(statement, _FUNCTIONS) else getattr(statement, "body", None)
    if isinstance(body, list) and body:
        first: ast.AST = body[0]
        return max(statement.lineno, getattr(first, "lineno", 1) - 1)
    return statement.end_lineno or statement.lineno


def _edits(tree: ast.Module) -> Iterator[tuple[_Around, _Edit]]:
    seen: set[tuple[int, str, int | None, str]] = set()
    for around, edit in _walk(tree, _Around("", None)):
        key = (id(edit.parent), edit.field, edit.index, "" if edit.new is None else ast.unparse(edit.new))
        if key not in seen:  # two rules may lead to one text
            seen.add(key)
            yield around, edit


def _walk(node: ast.AST, around: _Around) -> Iterator[tuple[_Around, _Edit]]:
    if isinstance(node, ast.Call):
        for index, keyword in enumerate(node.keywords):
            if keyword.arg is not None:
                yield around, _Edit(node, "keywords", index, keyword, None)
    for field, value in ast.iter_fields(node):
        if field in _SKIPPED_FIELDS or (isinstance(node, ast.ClassDef) and field == "keywords"):
            continue
        children = value if isinstance(value, list) else [value]
        for index, child in enumerate(children):
            if isinstance(child, ast.AST) and not _is_left_alone(node, child):
                within = _within(around, child)
                at = index if isinstance(value, list) else None
                for new, gone in _changes(node, field, child):
                    yield within, _Edit(node, field, at, child, _located(new, within), gone)
                yield from _walk(child, within)


def _within(around: _Around, child: ast.AST) -> _Around:
    if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
        name = f"{around.function}.{child.name}" if around.function else child.name
        return _Around(name, child, isinstance(child, ast.ClassDef))
    if isinstance(child, ast.stmt):
        return _Around(around.function, child, around.in_class)
    return around


def _located(new: ast.AST, around: _Around) -> ast.AST:
    if around.statement is not None:
        ast.copy_location(new, around.statement)
    return ast.fix_missing_locations(new)


def _is_left_alone(parent: ast.AST, child: ast.AST) -> bool:
    if isinstance(child, ast.Import | ast.ImportFrom | ast.Assert | ast.JoinedStr):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Call):
        return ast.unparse(child.value.func) == "assert_never"
    return isinstance(parent, ast.ClassDef) and isinstance(child, ast.AnnAssign | ast.Assign)


def _changes(parent: ast.AST, field: str, node: ast.AST) -> Iterator[tuple[ast.AST, str | None]]:
    """What a node may wrongly become, and what that leaves out, where it is told so."""
    if isinstance(node, ast.expr):
        if field in _CONDITIONS.get(type(parent), ()):
            yield _negated(node), None
        for new in _of_expression(node):
            yield new, None
    elif isinstance(node, ast.With | ast.AsyncWith):
        yield from _without_item(node)
    elif isinstance(node, ast.Try):
        yield from _without_handler(node)
    elif isinstance(node, ast.stmt):
        for changed in _of_statement(node):
            yield changed, None


def _of_expression(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare():
            for index, op in enumerate(node.ops):
                yield ast.Compare(
                    node.left, [*node.ops[:index], _COMPARED[type(op)], *node.ops[index + 1 :]], node.comparators
                )
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            for index in range(len(node.values)):
                rest = [*node.values[:index], *node.values[index + 1 :]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        case ast.BinOp():
            yield from _of_sum(node)
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.Call(ast.Name("sorted" | "reversed"), [only]):
            yield only
        case ast.Constant():
            yield from _of_constant(node)


def _of_sum(node: ast.BinOp) -> Iterator[ast.expr]:
    if type(node.op) in _COUNTED:
        yield ast.BinOp(node.left, _COUNTED[type(node.op)], node.right)
    if isinstance(node.op, _OF_SETS):
        if not _is_needless(node.right):
            yield node.left
        if not _is_needless(node.left) and not (
            isinstance(node.left, ast.BinOp) and type(node.left.op) is type(node.op)
        ):
            yield node.right


def _is_needless(flag: ast.expr) -> bool:
    return ast.unparse(flag) in ("os.O_CLOEXEC", "os.O_RDONLY")


def _of_constant(node: ast.Constant) -> Iterator[ast.expr]:
    match node.value:
        case bool():
            yield ast.Constant(not node.value)
        case int():
            yield ast.Constant(node.value + 1)
        case float():
            yield ast.Constant(node.value * 2 + 1)
        case bytes():
            yield ast.Constant(node.value + b"X")
        case str() if " " not in node.value:  # else it is for people, or a statement for the database
            yield ast.Constant(node.value + "X")


def _of_statement(node: ast.stmt) -> Iterator[ast.stmt]:
    match node:
        case ast.Expr() | ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Return(value) if value is not None and not _is_none_or_bool(value):
            yield ast.Return(ast.Constant(None))
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Assign(targets) if not any(_binds_a_name(target) for target in targets):
            yield ast.Pass()
        case ast.AnnAssign(target, value=value) if value is not None and not _binds_a_name(target):
            yield ast.Pass()
        case ast.AugAssign(target, op, value):
            yield ast.Pass()
            if type(op) in _COUNTED:
                yield ast.AugAssign(target, _COUNTED[type(op)], value)


def _is_none_or_bool(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, bool))


def _without_item(node: ast.With | ast.AsyncWith) -> Iterator[tuple[ast.AST, str]]:
    for index, item in enumerate(node.items):
        rest = [*node.items[:index], *node.items[index + 1 :]]
        if item.optional_vars is None:
            yield (type(node)(rest, node.body) if rest else _just(node.body)), f"with {ast.unparse(item)}"


def _without_handler(node: ast.Try) -> Iterator[tuple[ast.AST, str]]:
    for index, handler in enumerate(node.handlers):
        left = [*node.handlers[:index], *node.handlers[index + 1 :]]
        kind = "" if handler.type is None else f" {ast.unparse(handler.type)}"
        if left or node.finalbody:
            orelse = node.orelse if left else []
            body = node.body if left else [*node.body, *node.orelse]
            yield ast.Try(body, left, orelse, node.finalbody), f"except{kind}"
        else:
            yield _just([*node.body, *node.orelse]), f"except{kind}"


def _just(body: list[ast.stmt]) -> ast.stmt:
    return ast.If(ast.Constant(True), body, [])


def _binds_a_name(target: ast.expr) -> bool:
    """Whether it makes a variable: what reads it then fails at once, which shows nothing."""
    if isinstance(target, ast.Tuple):
        return any(_binds_a_name(each) for each in target.elts)
    return isinstance(target, ast.Name)


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return ast.Compare(test.left, [_OPPOSITE[type(test.ops[0])]], test.comparators)
    return ast.UnaryOp(ast.Not(), test)
