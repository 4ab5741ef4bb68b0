"""`meta`: `adversarial` with virtual training and testing on attributes and models."""
