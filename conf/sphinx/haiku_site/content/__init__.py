"""What only this site shows: directives, cards, drawings, the course."""
