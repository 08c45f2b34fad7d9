"""The parser: tokens to tree, one module for each part of the grammar; `source_parser` has the entry points."""
