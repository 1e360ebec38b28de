"""What surrounds every screen: the app as screens know it, what is chosen, the bars, what screens
derive from.
"""
