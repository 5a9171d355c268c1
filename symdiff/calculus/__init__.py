"""calculus."""
