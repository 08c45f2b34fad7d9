"""Chats: what a chat in a terminal and one on the page share.

It opens a chat, saves its conversation and its runs, and selects its tools, attachments and models.
"""
