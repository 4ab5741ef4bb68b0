"""Drawings of the report: inline SVG, one chart a file, every text escaped, colours by class."""
