"""NumPy's arrays on their way into a call and out of it: what a caller passes, what a unit sees, what comes back."""
