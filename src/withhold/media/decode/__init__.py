"""Files and bytes to samples; one decoder a kind, each of which refuses what it cannot vouch for."""
