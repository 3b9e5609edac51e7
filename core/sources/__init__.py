"""Where text comes from: the workspace and its extra paths, and transcripts."""
