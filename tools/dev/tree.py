"""Files of the source tree: those that git tracks, so that what programs and tests have written there does not count."""

import os
import subprocess

SKIPPED = ("build", ".git", ".cache", "__pycache__", "runs")


def tracked(root):
    """Paths that git tracks, or None where `root` is not the top of a working tree, or git is missing."""
    if not os.path.exists(os.path.join(root, ".git")):
        return None
    try:
        listing = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return sorted(os.fsdecode(path) for path in listing.split(b"\0") if path)


def walked(root):
    """All files, except those in folders that hold no sources."""
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in SKIPPED]
        for file in files:
            yield os.path.relpath(os.path.join(folder, file), root)


def files_under(root, top=""):
    """Paths from the root, in order; links are left out."""
    found = tracked(root)
    if found is None:
        found = sorted(walked(root))
    for path in found:
        whole = os.path.join(root, path)
        if (not top or path.startswith(top + os.sep)) and os.path.isfile(whole) and not os.path.islink(whole):
            yield path
