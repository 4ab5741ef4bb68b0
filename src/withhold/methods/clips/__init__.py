"""Trained methods on clips: a network changes every frame, and the action stays recognisable."""
