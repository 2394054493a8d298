"""Pure functions on arrays: the method's equations, without files, settings or state."""
