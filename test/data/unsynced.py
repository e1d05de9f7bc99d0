"""What a power cut can leave of a save: writes that were not made durable may be lost, come late or be torn.

usage: unsynced.py TRACE OLD NEW STATES

TRACE is strace's record of a save that replaces the file OLD by NEW (copies of them before and after). The calls are played on
a model of a disk that keeps what fsync has confirmed and loses any part of the rest: of a file each write or truncation, whole or
cut anywhere; of a folder the latest names. Every state that is drawn must hold OLD or NEW under the name, and NEW once the
program has gone on. The same trace without its fsync calls must be found out, which shows that the model can."""
import os
import random
import re
import sys

trace_path, old_path, new_path, states = sys.argv[1:5]
with open(old_path, "rb") as file:
    old = file.read()
with open(new_path, "rb") as file:
    new = file.read()
assert old != new
FINAL = "state.ckpt"


def unquote(text):
    return bytes(int(pair, 16) for pair in re.findall(r"\\x(..)", text))


def calls():
    """("open" | "truncate" | "write" | "sync" | "rename" | "unlink" | "sync folder", …) of the save, in order."""
    pattern = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")
    with open(trace_path) as file:
        for line in file:
            match = pattern.match(line)
            if not match or int(match[3]) < 0:
                continue
            name, args, result = match.groups()
            where = re.match(r"\d+<([^>]*)>", args)
            file_name = os.path.basename(unquote(where[1]).decode() if where and "\\x" in where[1] else where[1]) if where else ""
            strings = [unquote(s) for s in re.findall(r'"((?:\\x..)*)"', args)]
            names = [os.path.basename(s.decode(errors="replace")) for s in strings]
            if name == "openat" and names and names[0].startswith(FINAL) and ("O_CREAT" in args or "O_TRUNC" in args):
                yield ("open", names[0], "O_TRUNC" in args)
            elif name == "ftruncate" and file_name.startswith(FINAL):
                yield ("truncate", file_name, int(args.rsplit(",", 1)[1]))
            elif name == "write" and file_name.startswith(FINAL):
                assert int(result) <= len(strings[0]), "strace -s was too short"
                yield ("write", file_name, strings[0][:int(result)])
            elif name in ("fsync", "fdatasync"):
                yield ("sync", file_name) if file_name.startswith(FINAL) else ("sync folder",)
            elif name in ("rename", "renameat", "renameat2"):
                yield ("rename", names[0], names[1])
            elif name in ("unlink", "unlinkat") and names[0].startswith(FINAL):
                yield ("unlink", names[0])


class Inode:
    def __init__(self, content=b""):
        self.durable, self.pending, self.position = content, [], 0


def apply(content, operation, rng=None):
    """The content behind an operation; with rng, perhaps only a part of it."""
    kind, *rest = operation
    if kind == "truncate":
        return content[:rest[0]] + bytes(max(0, rest[0] - len(content)))
    at, data = rest
    if rng and rng.random() < 0.5:
        data = data[:rng.randrange(len(data) + 1)]
    content += bytes(max(0, at - len(content)))
    return content[:at] + data + content[at + len(data):]


def crash(operations, count, rng):
    """The names and their contents after a power cut behind `count` operations."""
    names, now, pending_names = {FINAL: Inode(old)}, {}, []
    now.update(names)
    for kind, *rest in operations[:count]:
        if kind == "open":
            if rest[0] not in now:
                now[rest[0]] = Inode()
                pending_names.append(("set", rest[0], now[rest[0]]))
            now[rest[0]].position = 0
            if rest[1]:
                now[rest[0]].pending.append(("truncate", 0))
        elif kind == "truncate":
            now[rest[0]].pending.append(("truncate", rest[1]))
        elif kind == "write":
            inode = now[rest[0]]
            inode.pending.append(("write", inode.position, rest[1]))
            inode.position += len(rest[1])
        elif kind == "sync":
            inode = now[rest[0]]
            for operation in inode.pending:
                inode.durable = apply(inode.durable, operation)
            inode.pending.clear()
        elif kind == "rename":
            now[rest[1]] = now.pop(rest[0])
            pending_names.append(("move", rest[0], rest[1], now[rest[1]]))
        elif kind == "unlink":
            now.pop(rest[0])
            pending_names.append(("remove", rest[0]))
        elif kind == "sync folder":
            for change in pending_names:
                change_name(names, change)
            pending_names.clear()
    # A folder keeps its changes in order, up to some point.
    for change in pending_names[:rng.randrange(len(pending_names) + 1)]:
        change_name(names, change)
    contents = {}
    for name, inode in names.items():
        content = inode.durable
        for operation in inode.pending:
            if rng.random() < 0.6:
                content = apply(content, operation, rng)
        contents[name] = content
    return contents


def change_name(names, change):
    if change[0] == "set":
        names[change[1]] = change[2]
    elif change[0] == "move":
        names.pop(change[1], None)
        names[change[2]] = change[3]
    else:
        names.pop(change[1], None)


def torn(operations, number):
    rng = random.Random(1)
    seen = set()
    for _ in range(number):
        count = rng.randrange(len(operations) + 1)
        content = crash(operations, count, rng).get(FINAL)
        if content not in (old, new) or (count == len(operations) and content != new):
            return f"behind {count} of {len(operations)} calls: {None if content is None else len(content)} bytes", seen
        seen.add(content == new)
    return None, seen


operations = list(calls())
assert operations and operations[-1] == ("sync folder",), [o[0] for o in operations]
problem, seen = torn(operations, int(states))
assert problem is None, problem
assert seen == {False, True}, seen
for left_out in ("sync", "sync folder"):
    problem, _ = torn([o for o in operations if o[0] != left_out], int(states))
    assert problem, f"nothing is torn without `{left_out}`"
print(states, "states,", len(operations), "calls")
