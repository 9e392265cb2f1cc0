#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Downloads one URL over TLS with urllib and throws it away. Prints bytes per second.

The certificate is not verified: the bench makes its own for each run.
"""

import ssl
import sys
import time
import urllib.request

context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
begin = time.monotonic()
total = 0
with urllib.request.urlopen(sys.argv[1], context=context) as answer:
    while chunk := answer.read(1 << 20):
        total += len(chunk)
print(total / (time.monotonic() - begin))
