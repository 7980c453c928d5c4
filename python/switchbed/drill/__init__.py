"""`switchbed drill`: packetdrill scripts against one connection of the model."""
