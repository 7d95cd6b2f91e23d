"""The source documents: the claims of each as things to run (`ledger`), its studies and its figures together."""
