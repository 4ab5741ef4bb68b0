"""Records of any kind: the dataset, its attributes, roles and splits, and its file formats."""
