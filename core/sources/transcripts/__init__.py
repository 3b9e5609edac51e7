"""Agent transcripts, one file for each dialect."""
