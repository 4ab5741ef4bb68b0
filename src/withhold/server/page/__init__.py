"""The page at `/`: rendered here, without a build step, for people who do not program."""
