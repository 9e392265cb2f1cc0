# SPDX-License-Identifier: Apache-2.0
"""The table: every module of this folder has a list CASES."""

import importlib
import pkgutil


def every():
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        yield from importlib.import_module(f"cases.{module.name}").CASES
