"""Media in: decoding, the papers' contrastive views, and extractors from media to features."""
