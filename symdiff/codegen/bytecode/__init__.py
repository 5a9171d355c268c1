"""bytecode."""
