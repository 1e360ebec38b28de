"""Real output that was doctored: figures are changed by a seeded generator, then imported or judged
again.
"""
