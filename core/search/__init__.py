"""From a query to ranked hits: words, meaning, fusion, decay, diversity, snippets."""
