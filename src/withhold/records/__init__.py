"""Records of any kind: the dataset, its attributes, roles and splits, and the files they are in."""
