"""Text as such: lines, tokens, search normalisation, visible marks."""
