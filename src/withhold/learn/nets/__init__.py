"""Networks: the shared bottom of every method and attacker. They know nothing of training."""
