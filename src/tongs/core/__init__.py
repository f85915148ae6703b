"""The nouns of Tongs and the Protocols its parts meet at. Standard library only, no I/O."""
