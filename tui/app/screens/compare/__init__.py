"""The Compare screen: marked runs held against the first of them."""
