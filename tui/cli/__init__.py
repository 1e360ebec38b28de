"""The benchtui command, one module for each verb or group of verbs."""
