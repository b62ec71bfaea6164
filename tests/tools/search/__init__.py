"""How well the site's search finds what people type."""
