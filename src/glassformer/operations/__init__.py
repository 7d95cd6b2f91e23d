"""What one head or one MLP does, as types: compilers write them, certificates keep them, instruments look for them."""
