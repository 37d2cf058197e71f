"""Drawings, as SVG without any program but ours."""
