"""The engine's process: launching it, its questions, its control socket."""
