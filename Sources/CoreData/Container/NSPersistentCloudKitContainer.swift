internal import Synchronization

/// A container that Apple's framework mirrors to iCloud. Linux has no CloudKit: here it is a local container, and the
/// first one that loads stores prints a line about it to standard error.
///
/// ```swift
/// let container = NSPersistentCloudKitContainer(name: "Library", managedObjectModel: model)
/// container.loadPersistentStores { description, error in
///   if let error { fatalError("\(description.url?.path ?? "") cannot be opened: \(error)") }
/// }
/// ```
///
/// It serves programs whose code is the same on a Mac and on Linux, for example a server that reads a file which a Mac
/// mirrors. New code for Linux alone takes `NSPersistentContainer`. To send changes to another store, read the
/// persistent history.
///
/// Stores whose description has `cloudKitContainerOptions` keep a history, as on Apple's platforms.
///
/// Source: Apple's documentation of `NSPersistentCloudKitContainer`.
open class NSPersistentCloudKitContainer: NSPersistentContainer, @unchecked Sendable {
  /// For the process, not for each container: a server may make many.
  private static let hasSaidSo = Atomic(false)

  /// Opens the stores as `NSPersistentContainer` does, with a history where the description names a container in
  /// iCloud. An explicit value of `NSPersistentHistoryTrackingKey` in the description stays.
  ///
  /// - Parameter block: called once for each description: see
  ///   `NSPersistentContainer.loadPersistentStores(completionHandler:)`.
  open override func loadPersistentStores(
    completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    if !Self.hasSaidSo.exchange(true, ordering: .relaxed) {
      let message = "CoreData: there is no CloudKit on Linux: \"\(name)\" is a local container and mirrors nothing.\n"
      FileHandle.standardError.write(Data(message.utf8))
    }
    for description in persistentStoreDescriptions where description.cloudKitContainerOptions != nil {
      if description.options[NSPersistentHistoryTrackingKey] == nil {
        description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
      }
    }
    super.loadPersistentStores(completionHandler: block)
  }

  /// Makes the schema in iCloud, on Apple's platforms. Does nothing here, and throws nothing: there is no schema in
  /// iCloud. Apple advises to call it in a development build only.
  ///
  /// - Parameter options: without effect.
  open func initializeCloudKitSchema(options: NSPersistentCloudKitContainerSchemaInitializationOptions = []) throws {}

  /// Whether the user may change the object: on Apple's platforms iCloud sharing decides, here it is always true.
  ///
  /// - Parameter objectID: without effect.
  open func canUpdateRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool { true }

  /// Whether the user may delete the object: on Apple's platforms iCloud sharing decides, here it is always true.
  ///
  /// - Parameter objectID: without effect.
  open func canDeleteRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool { true }

  /// Whether the user may insert and change objects in the store: false for a read-only one.
  ///
  /// - Parameter store: a store of this container.
  open func canModifyManagedObjects(in store: NSPersistentStore) -> Bool { !store.isReadOnly }

  /// The name of the notification that Apple's framework posts about its work with iCloud. It is never posted here.
  public static let eventChangedNotification = Notification.Name(
    "NSPersistentCloudKitContainerEventChangedNotification")

  /// The key under which that notification has its event, on Apple's platforms.
  public static let eventNotificationUserInfoKey = "event"
}

/// The steps of `initializeCloudKitSchema(options:)`. Raw values are Apple's.
public struct NSPersistentCloudKitContainerSchemaInitializationOptions: OptionSet, Sendable {
  /// The bits, which are Apple's.
  public let rawValue: UInt
  /// Makes a set of the bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// Checks the model without any request, on Apple's platforms. Nothing is checked here.
  public static let dryRun = NSPersistentCloudKitContainerSchemaInitializationOptions(rawValue: 1 << 1)
  /// Prints the records of the schema, on Apple's platforms. Nothing is printed here.
  public static let printSchema = NSPersistentCloudKitContainerSchemaInitializationOptions(rawValue: 1 << 2)
}
