"""Work that several screens share: with hosts, engines, files and editors."""
