"""What a user can ask for, as typed functions. Every interface calls them."""
