"""index.html, the page that a person opens first."""
