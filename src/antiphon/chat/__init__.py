"""Talks: what a chat in a terminal and one on the page share.

How a talk is opened, what is written down of it, its tools, its images, and the models it can be had with. Who shows it
is further out.
"""
