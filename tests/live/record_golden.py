#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the recordings of tests/golden/recordings anew: runs the cases below alone, takes their
recordings, and writes beside each the report that it replays to. `--reports` keeps the recordings
and writes only the reports, after a wanted change of the analysis. Look at the difference before
committing it."""

import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(os.path.dirname(HERE), "golden", "recordings")

# Small ones, at least one for each outcome and for each witness.
CASES = [
    "http.404.clear.curl", "http.103_then_200.clear.curl", "http.4294967496.clear.curl",
    "http.405_get.clear", "http.200_body_cut.clear.curl", "tls.good.curl", "tls.good.go",
    "tls.untrusted.curl", "tls.untrusted.java", "tls.wrong_name.curl", "tls.client_cert_tls13.curl",
    "tls.plain_server.s_client", "tls.reset_after_hello.go", "dns.nxdomain.direct.curl",
    "dns.silent.direct.curl", "dns.truncated.direct.curl", "transport.refused.curl",
    "transport.cancelled_after_50ms", "transport.dead_aaaa_refused.curl",
    "policy_hook.reject.curl", "policy_hook.eperm.curl", "reuse.withdrawn.go",
    "reuse.stale_reset.curl.clear", "routing.two_paths.refused", "routing.other_port",
    "concurrency.asyncio",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--routelens", required=True)
    parser.add_argument("--reports", action="store_true", help="only the reports, by replay")
    options = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    if not options.reports:
        with tempfile.TemporaryDirectory(prefix="routelens-golden-") as kept:
            result = subprocess.run([sys.executable, "-B", os.path.join(HERE, "run.py"), "--alone",
                                     "--routelens", options.routelens, "--save-recordings", kept,
                                     "--case", *CASES])
            if result.returncode != 0:
                print("record_golden: a case failed; nothing was changed", file=sys.stderr)
                return 1
            for old in glob.glob(os.path.join(FOLDER, "*")):
                os.unlink(old)
            for name in os.listdir(kept):
                shutil.copy(os.path.join(kept, name), FOLDER)
    for recording in sorted(glob.glob(os.path.join(FOLDER, "*.rlrec"))):
        replayed = subprocess.run([options.routelens, "replay", recording, "--json"],
                                  capture_output=True, check=True)
        with open(recording[:-len(".rlrec")] + ".json", "wb") as file:
            file.write(replayed.stdout)
        print(f"{os.path.basename(recording)}: {os.path.getsize(recording)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
