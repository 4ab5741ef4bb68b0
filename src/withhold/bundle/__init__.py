"""What a fit leaves behind: saved, loaded and verified; and what the fit saw."""
