"""What the experiments have in common: files, tables, progress, measures and ranks."""
