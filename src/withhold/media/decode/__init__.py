"""Files and bytes to samples, one decoder per kind; damaged or doubtful files are refused."""
