"""The same scenarios and packets in ns-3, ns-2, Linux and here."""
