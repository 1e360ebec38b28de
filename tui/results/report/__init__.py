"""Runs as a document that travels: one HTML file without a network, or Markdown for a ticket."""
