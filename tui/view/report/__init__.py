"""Write reports of runs as HTML and Markdown."""
