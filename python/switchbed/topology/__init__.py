"""`switchbed topology`: networks shown, converted between forms, and generated."""
