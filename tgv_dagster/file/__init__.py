"""File: compartments, projects, levels."""
