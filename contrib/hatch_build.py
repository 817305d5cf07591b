"""Put into the wheel what lies outside the package (the unit files), and what is made from the code, for nothing
generated is committed: the configuration's JSON Schema, the definitions of all methods, and the client library's type
stub of them."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GeneratedFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `picoclawd/systemd/`, `picoclawd/config.schema.json`, and `methods.json` and `methods.pyi` of the client.

    An editable install has none of them: the units are beside the package, and `picoclawd schema` and
    `picoclawd methods` print the rest.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the files and have them included. The build environment holds what the hook's `dependencies` name."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        try:
            files = _made()
        except ModuleNotFoundError as exc:
            message = f"the definitions need {exc.name}: add it to the hook's dependencies in pyproject.toml"
            raise RuntimeError(message) from exc

        self.made = tempfile.TemporaryDirectory()
        for name, text in files.items():
            target = Path(self.made.name, name.replace("/", "-"))
            target.write_text(text, encoding="utf-8")
            build_data["force_include"][str(target)] = f"picoclawd/{name}"
        build_data["force_include"][str(Path(self.root, "systemd"))] = "picoclawd/systemd"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files that were included."""
        if version != "editable":
            self.made.cleanup()


def _made() -> dict[str, str]:
    """The texts by their names below the package."""
    from picoclawd.client import definitions, stubs
    from picoclawd.daemon.config import schema
    from picoclawd.rpc.catalogue import describe_all

    rows = describe_all()
    return {
        "config.schema.json": json.dumps(schema(), indent=2) + "\n",
        f"client/{definitions.FILE}": json.dumps(rows) + "\n",
        f"client/{stubs.FILE}": stubs.render(rows),
    }
