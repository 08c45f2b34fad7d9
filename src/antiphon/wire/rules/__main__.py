"""`python -m antiphon.wire.rules` prints the page of all rules."""

from antiphon.wire.rules.table import render_rules_page

print(render_rules_page(), end="")
