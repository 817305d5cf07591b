import json
import subprocess
import sys

from picoclawd.rpc import door
from picoclawd.rpc.catalogue import describe_all
from picoclawd.tools._registry import discover


def test_every_method_is_described_once_by_name() -> None:
    names = [row["name"] for row in describe_all()]
    assert names == sorted({*discover(), *(row.name for row in door.ROWS)})
    assert all(row["description"] and row["params"]["type"] == "object" for row in describe_all())


def test_the_daemons_command_prints_them() -> None:
    command = [sys.executable, "-m", "picoclawd", "methods"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == json.loads(json.dumps(describe_all()))
