"""Operations of metadata benchmarks, in the order in which they are shown: what tools count gets these names."""

OPERATIONS = (
    "create", "create-stonewall", "stat", "read", "rename", "remove",
    "dir-create", "dir-stat", "dir-read", "dir-rename", "dir-remove", "tree-create", "tree-remove",
)  # fmt: skip
