# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of the matrix in small sizes: mx gives what NumPy does. And all rows in their own sizes are checked: they compile as
far as types and sizes go. Usage: small_rows.py REPOSITORY LIBMXC"""
import sys

sys.path.insert(0, sys.argv[1] + "/tools/mxc-bench/matrix")
import compare  # noqa: E402
import peers  # noqa: E402
import rows  # noqa: E402
from mxc_library import Library, Session  # noqa: E402

library, plain = Library(sys.argv[2]), peers.NumPy(1)
compared = 0
for row in rows.small_rows():
    arrays = row.arguments()
    ours = compare.Ours(row, library, 1, arrays)
    made = [ours.first] + [ours.numbers() for _ in range(2 if row.changed else 0)]
    step = plain.step(row, arrays)
    if step:
        apart = max(compare.difference(a, plain.numbers(step())) for a in made)
        assert apart <= row.tolerance, f"{row.name}: {apart}"
        compared += 1
    assert row.goal or row.copy_goal, row.name
    ours.close()
session, names = Session(library, 1), []
for row in rows.all_rows():
    session.function(session.load(row.name, row.source), "run")
    assert row.peers and (row.goal or row.copy_goal), row.name
    names.append(row.name)
session.destroy()
assert len(set(names)) == len(names)
print(f"{compared} rows agree with NumPy, {len(names)} rows are programs")
