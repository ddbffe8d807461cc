/// The classes of stores that every coordinator knows. Each names the types of its stores. No other file outside of a
/// store's own folder names its class.
let builtInStores: [any PlacedStore.Type] = [SQLiteStore.self, MemoryStore.self, BinaryStore.self, XMLStore.self]
