"""Find the tools: one public module each, defining a `Tool` of the module's own name."""

import importlib
import pkgutil

from picoclawd import tools
from picoclawd.tools._spec import AnyTool


def discover() -> dict[str, AnyTool]:
    """All tools of this build by name, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(tools.__path__) if not module.name.startswith("_"))
    return {name: getattr(importlib.import_module(f"picoclawd.tools.{name}"), name) for name in names}
