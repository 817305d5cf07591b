"""`python -m picoclawd.client` is `picoclawctl`."""

import sys

from picoclawd.client.main import main

sys.exit(main())
