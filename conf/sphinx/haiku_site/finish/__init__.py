"""From the pages of all languages to a folder that may be published."""
