"""`python -m picoclawd` is `picoclawd`."""

import sys

from picoclawd.daemon.main import main

sys.exit(main())
