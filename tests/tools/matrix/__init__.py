"""What each set of versions does, and the tables that the site and the README show of it."""
