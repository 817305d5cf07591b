"""Every public module of the tools is a tool of its own name."""

import pkgutil

from picoclawd import tools
from picoclawd.tools._registry import discover


def test_each_public_module_is_one_tool_of_its_name() -> None:
    found = discover()
    public = {module.name for module in pkgutil.iter_modules(tools.__path__) if not module.name.startswith("_")}
    assert public == set(found) == {tool.name for tool in found.values()}
    assert list(found) == sorted(found)


def test_every_tool_tells_a_model_what_each_parameter_is() -> None:
    for name, tool in discover().items():
        assert tool.title and tool.description, name
        assert tool.hints.read_only or not tool.hints.idempotent or not tool.hints.destructive, name
        assert tool.rows_field is None or tool.rows_field in tool.data.__struct_fields__, name
        assert set(tool.positional(tool.settings())) <= set(tool.params.__struct_encode_fields__), name
