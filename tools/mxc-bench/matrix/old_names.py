# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Words of rows and parts that were renamed, as people may still type them after --rows and --parts."""

OLD_NAMES = {"by input": "input gradient", "by window": "filter gradient", "prediction": "inference",
             "most memory": "peak memory", "products": "matmul", "leftSwapped": "A transposed",
             "rightSwapped": "B transposed"}


def renamed(pattern, say):
    """The pattern with the names of today; `say` gets a note for each that was replaced."""
    for before, now in OLD_NAMES.items():
        if before in pattern:
            say(f"note: `{before}` is now called `{now}`")
            pattern = pattern.replace(before, now)
    return pattern
