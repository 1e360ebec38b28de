"""Texts about saving what is planned as a profile."""

SAVE_AS = "Save as a profile"
NAME_HELP = "family/name in lower case, such as my/reads; the profile is a YAML file you can edit"
NOTHING_TO_SAVE = "nothing to save yet"
WITHOUT_SEARCH = " without the search"
