"""The command line: one command a file. Heavy imports happen inside the commands."""
