"""Rules about racks, power, cables, and what stands in them."""
