/// The classes of stores that every coordinator knows. Each names the types of its stores. No other file outside of a
/// store's own folder names its class.
///
/// The order matters where a file's type is not known (`StoreTypes.find(reading:)`): the first class that can read the
/// metadata has the file, and SQLite files are the common ones. A class at a server is not here, since its module may
/// be missing: see `serverStoreClass`.
let builtInStores: [any PlacedStore.Type] = [SQLiteStore.self, MemoryStore.self, BinaryStore.self, XMLStore.self]
