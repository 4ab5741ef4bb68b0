"""Files and bytes to samples: a decoder a kind, each refusing what it cannot vouch for."""
