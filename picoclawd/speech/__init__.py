"""Turn recordings into text: engines that get a descriptor and never a path."""
