"""The columns of a table other than its features: what each one reveals to an attacker."""
