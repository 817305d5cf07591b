"""The four ways in which bytes reach a file of the workspace and are proven there, gathered under one name.

All of them block, take a `Target` (a name in an open directory) and answer `Committed` or raise a `Fault`. Until the
new name is given, a failure leaves the old file as it was; after that its outcome is unknown, and is called so.
"""

from picoclawd.files.append import append
from picoclawd.files.create import create
from picoclawd.files.readback import read_back
from picoclawd.files.replace import replace
from picoclawd.files.target import Committed, Keep, StillThere, Target

__all__ = ["Committed", "Keep", "StillThere", "Target", "append", "create", "read_back", "replace"]
