"""How records lie in the cold store, and how a store is opened."""
