"""The command line: one file per command, none of which imports Textual unless it opens the app."""
