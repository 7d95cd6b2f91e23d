"""The same machine in other layers than a transformer's."""
