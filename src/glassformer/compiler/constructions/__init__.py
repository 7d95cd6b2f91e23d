"""One module or folder for each way to build a transformer: its plan, its layers, its program."""
