"""Write runs as files of other tools, streams and the clipboard."""
