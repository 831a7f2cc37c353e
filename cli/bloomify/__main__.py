"""`python -m bloomify`."""

import sys

from bloomify.main import main

sys.exit(main())
