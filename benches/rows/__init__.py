"""The rows of the table, one module per subject."""
