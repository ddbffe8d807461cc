// Names of iCloud's former way to share stores, which Apple has removed. Programs that still name them compile; nothing
// here reads the options or posts the notification.

/// The name under which iCloud kept a store.
@available(*, deprecated, message: "iCloud no longer shares stores.")
public let NSPersistentStoreUbiquitousContentNameKey = "NSPersistentStoreUbiquitousContentNameKey"

/// The place of a store in an iCloud container.
@available(*, deprecated, message: "iCloud no longer shares stores.")
public let NSPersistentStoreUbiquitousContentURLKey = "NSPersistentStoreUbiquitousContentURLKey"

/// The token by which iCloud distinguished a program's installations.
@available(*, deprecated, message: "iCloud no longer shares stores.")
public let NSPersistentStoreUbiquitousPeerTokenOption = "NSPersistentStoreUbiquitousPeerTokenOption"

/// Whether a migration drops the metadata of iCloud.
@available(*, deprecated, message: "iCloud no longer shares stores.")
public let NSPersistentStoreRemoveUbiquitousMetadataOption = "NSPersistentStoreRemoveUbiquitousMetadataOption"

/// The iCloud container that holds a store.
@available(*, deprecated, message: "iCloud no longer shares stores.")
public let NSPersistentStoreUbiquitousContainerIdentifierKey = "NSPersistentStoreUbiquitousContainerIdentifierKey"

/// Whether a store is read again from iCloud.
@available(*, deprecated, message: "iCloud no longer shares stores.")
public let NSPersistentStoreRebuildFromUbiquitousContentOption = "NSPersistentStoreRebuildFromUbiquitousContentOption"

/// The key of a `NSPersistentStoreUbiquitousTransitionType` in the notifications about a coordinator's stores.
@available(*, deprecated, message: "iCloud no longer shares stores.")
public let NSPersistentStoreUbiquitousTransitionTypeKey = "NSPersistentStoreUbiquitousTransitionTypeKey"

/// What happened to a store in iCloud, in notifications that only Apple's framework posted. Raw values are Apple's.
@available(*, deprecated, message: "iCloud no longer shares stores.")
public enum NSPersistentStoreUbiquitousTransitionType: UInt, Sendable {
  /// An account was added.
  case accountAdded = 1
  /// The account was removed.
  case accountRemoved = 2
  /// The account's content was removed.
  case contentRemoved = 3
  /// The content was imported for the first time.
  case initialImportCompleted = 4
}

extension Notification.Name {
  /// Changes came from iCloud. Only Apple's framework posted it, until iCloud stopped sharing stores; observe
  /// `NSPersistentStoreRemoteChange` for what other processes save.
  @available(*, deprecated, message: "iCloud no longer shares stores.")
  public static let NSPersistentStoreDidImportUbiquitousContentChanges = Notification.Name(
    "com.apple.coredata.ubiquity.importer.didfinishimport")
}
