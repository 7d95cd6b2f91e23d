"""Studies: whole experiments that join building, learning and measuring; each ends in a table and a figure."""
