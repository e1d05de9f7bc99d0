"""Checks a plan as JSON and as a page: check-plan.py PLAN.json PLAN.html"""
import json
import re
import sys

plan = json.load(open(sys.argv[1], encoding="utf-8"))
page = open(sys.argv[2], encoding="utf-8").read()
device, = plan["devices"]
ops = len(device["in_use"])
for s in device["slices"]:
    assert 0 <= s["offset"] and s["offset"] + s["bytes"] <= device["arena_bytes"], s
    assert 0 <= s["first"] <= s["last"] <= ops, s
    assert s["type"] and s["location"], s
assert max(device["in_use"]) == device["bound_bytes"] <= device["arena_bytes"]
assert plan["work_is_exact"] and plan["moved_bytes"] > 0
products = 6 * 2 * 64 * 256 * 256  # of six layers
assert products <= plan["operations"] < 1.1 * products, plan["operations"]
print(f"arena {device['arena_bytes']}, peak {len(device['peak'])} tensors, "
      f"{products:,} of the operations are products")
inside = re.search(r'<script type="application/json" id="plan">(.*?)</script>', page, re.S)
assert json.loads(inside.group(1)) == plan
assert not re.search(r'\b(src|href)\s*=|https?:|@import', page)
print("the page is whole")
