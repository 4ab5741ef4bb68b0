"""`withhold serve`: the actions over HTTP, and a page for people who do not program.

This package parses requests, starts worker processes that call `actions`, and prints what they
return. No rule about data lives here.
"""
