#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Usage: expect-failure.sh PROGRAM [ARGUMENT...]
#
# Succeeds when the program ran and failed, by an exit status of its own or by a signal; not when it
# is missing or cannot be run.
"$@"
status=$?
echo "exit status $status"
[ "$status" -ne 0 ] && [ "$status" -ne 126 ] && [ "$status" -ne 127 ]
