"""Parts of `antiphon chat` and `antiphon ask`: input, output, options and templates at a terminal."""
