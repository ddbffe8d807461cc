internal import Synchronization

/// A container that Apple's framework mirrors to iCloud. Linux has no CloudKit: here it is a local container, and says
/// so once on standard error when stores are loaded.
///
/// Stores keep a history if the description asks for CloudKit, as on Apple's platforms.
///
/// Source: Apple's documentation of `NSPersistentCloudKitContainer`.
open class NSPersistentCloudKitContainer: NSPersistentContainer, @unchecked Sendable {
  private static let hasSaidSo = Atomic(false)

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

  /// Does nothing: there is no schema in iCloud.
  open func initializeCloudKitSchema(options: NSPersistentCloudKitContainerSchemaInitializationOptions = []) throws {}

  /// True: the local store takes every change.
  open func canUpdateRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool { true }

  /// True: the local store takes every deletion.
  open func canDeleteRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool { true }

  /// True for a store that may be written.
  open func canModifyManagedObjects(in store: NSPersistentStore) -> Bool { !store.isReadOnly }

  /// The name of the notification that Apple's framework posts about its work with iCloud. Never posted here.
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
