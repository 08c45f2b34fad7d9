"""Independent servers of the vendors' APIs, written from their documentation alone.

They import nothing of `antiphon.wire`, `antiphon.fakes` or `antiphon.facts`: what they refuse is what the vendors
document, and a wrong assumption of ours cannot hide in both places.
"""
