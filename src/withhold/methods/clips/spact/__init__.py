"""`spact`: an anonymiser against a branch that learns without privacy labels."""
