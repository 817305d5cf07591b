"""Put into the wheel what lies outside the package: the unit files, and the configuration's JSON Schema.

The schema is made from the Structs: nothing generated is committed.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SchemaHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `picoclawd/systemd/` and `picoclawd/config.schema.json`. An editable install has neither: the units are
    beside the package in the source tree, and `picoclawd schema` prints the schema."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the schema and have it included. The build environment holds what the hook's `dependencies` name."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        try:
            from picoclawd.daemon.config import schema
        except ModuleNotFoundError as exc:
            message = f"the configuration needs {exc.name}: add it to the hook's dependencies in pyproject.toml"
            raise RuntimeError(message) from exc

        self.made = tempfile.TemporaryDirectory()
        target = Path(self.made.name, "config.schema.json")
        target.write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")
        build_data["force_include"][str(target)] = "picoclawd/config.schema.json"
        build_data["force_include"][str(Path(self.root, "systemd"))] = "picoclawd/systemd"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file that was included."""
        if version != "editable":
            self.made.cleanup()
