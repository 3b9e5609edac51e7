"""The terminal face: the app and the command line."""
