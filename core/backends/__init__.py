"""Who answers: the built-in index, or another program behind the same interface."""
