"""Helpers that every package needs: JSON, escaping, directories, lazy exports, optional dependencies."""
