"""The command line: one command per file. Heavy imports happen inside the commands."""
