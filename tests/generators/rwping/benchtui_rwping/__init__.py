"""A load generator that reads and writes in turns and tells the latencies of both together."""
