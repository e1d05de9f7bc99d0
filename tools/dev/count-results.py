#!/usr/bin/env python3
"""Prints `N passed, N failed, N skipped` for a lit run.

Usage: count-results.py RESULTS.xml

Reads the report that `lit --xunit-xml-output` writes. Expected failures count
as passed, tests that this build cannot run as skipped, tests left out by a
filter not at all. Exits with 1 when a test failed or none was run.
"""

import sys
import xml.etree.ElementTree as ElementTree


def count(report):
    passed = failed = skipped = 0
    for case in ElementTree.parse(report).iter("testcase"):
        reason = case.find("skipped")
        if case.find("failure") is not None:
            failed += 1
        elif reason is None:
            passed += 1
        elif "not selected" not in reason.get("message", ""):
            skipped += 1
    return passed, failed, skipped


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: count-results.py RESULTS.xml")
    try:
        passed, failed, skipped = count(sys.argv[1])
    except (OSError, ElementTree.ParseError) as error:
        sys.exit(f"mx: error: lit left no readable report: {error}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed + skipped == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
