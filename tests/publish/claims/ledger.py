"""A made-up ledger of claims about the toy study."""

from __future__ import annotations

ENTRIES = """
items = ["P99-F1a", "P99-F1b", "P99-F10", "P99-T1", "P98-A"]

[[run]]
name = "squares"
experiment = "toy"
parameters = ["size=20", "fails=-1"]
quick = ["size=4"]
differences = ["Ours are | whole numbers."]

[[run]]
name = "broken"
experiment = "toy"
parameters = ["size=3", "fails=1"]

[[untested]]
item = "P98-A"
place = "Abstract"
claim = "It is beautiful."
reason = "beauty is not measured"

[[retired]]
id = "old-claim"
reason = "Nobody said so."
"""

CLAIM = """
[[claim]]
id = "{}"
item = "{}"
standing = "{}"
run = "{}"
rule = {{ {} }}
place = "Figure"
claim = "No number is larger than its <square>."
paper = "1"
paper_value = 1
table = "main"
"""

AT_MOST = 'kind = "at_most", column = "index", other = "square"'
LESS = 'kind = "less", column = "index", other = "square", a = {}, b = {}, pair = "index"'
NEAR = 'kind = "near", each = ["square"], value = 0, distance = 1'

LEDGER = (
    ENTRIES
    + CLAIM.format("index-at-most-square", "P99-F1a", "paper", "squares", AT_MOST)
    + CLAIM.format("index-below-square", "P99-F1b", "implied", "squares", LESS)
    + CLAIM.format("squares-are-small", "P99-F10", "ours", "squares", NEAR)
    + 'discussion = "They are not."\n'
    + CLAIM.format("broken-run", "P99-T1", "paper", "broken", AT_MOST)
)
"""Four claims on two runs: two agree, one does not, and one cannot be tested."""
