"""`python -m antiphon.wire.rules` prints the page of all rules."""

from antiphon.wire.rules.table import rules_page

print(rules_page(), end="")
