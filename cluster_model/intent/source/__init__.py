"""From text to data: YAML and CSV as they are read, with the place of every value and what is wrong with it."""
