"""The second language: pages and cells, and what marks a translation that lags behind."""
