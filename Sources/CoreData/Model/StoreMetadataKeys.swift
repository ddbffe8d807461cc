// Keys of a store's metadata. Their texts are Apple's, since store files have them.

/// The kind of the store, a `String` such as `NSSQLiteStoreType`.
///
/// ```swift
/// let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
/// print(metadata[NSStoreTypeKey] ?? "", metadata[NSStoreUUIDKey] ?? "")
/// ```
public let NSStoreTypeKey = "NSStoreType"
/// The store's identifier, a UUID as `String`: the host of its objects' URIs.
///
/// A copy by `migratePersistentStore` gets a new one; a copy of the file has the same.
public let NSStoreUUIDKey = "NSStoreUUID"
/// The version hashes of the model that the store was made with: `[String: Data]`, 32 bytes by entity name.
///
/// Compare them with `NSManagedObjectModel.entityVersionHashesByName`, or ask
/// `isConfiguration(withName:compatibleWithStoreMetadata:)`.
public let NSStoreModelVersionHashesKey = "NSStoreModelVersionHashes"
/// The `versionIdentifiers` of the model that the store was made with: an array.
public let NSStoreModelVersionIdentifiersKey = "NSStoreModelVersionIdentifiers"
