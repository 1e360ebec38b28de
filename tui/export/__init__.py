"""Export runs to the files of other tools, to streams and to the clipboard."""
