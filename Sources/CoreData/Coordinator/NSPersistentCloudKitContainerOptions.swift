/// The place in iCloud of a store. Kept without effect on iCloud: Linux has no CloudKit.
///
/// ```swift
/// let description = NSPersistentStoreDescription(url: url)
/// description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(
///   containerIdentifier: "iCloud.com.example.library")
/// ```
///
/// It serves programs whose code is the same on a Mac and on Linux. Here it has one effect: an
/// `NSPersistentCloudKitContainer` switches on the persistent history of such a store, as Apple's does, so that a Mac
/// that opens the file later finds it.
///
/// Source: Apple's documentation of `NSPersistentCloudKitContainerOptions`.
///
/// `@unchecked Sendable`: constant.
open class NSPersistentCloudKitContainerOptions: NSObject, @unchecked Sendable {
  /// The identifier of the iCloud container, such as "iCloud.com.example.app".
  public let containerIdentifier: String

  /// Names a container in iCloud. Nothing checks that it exists.
  ///
  /// - Parameter containerIdentifier: the identifier that the program's entitlements have on Apple's platforms.
  public init(containerIdentifier: String) {
    self.containerIdentifier = containerIdentifier
    super.init()
  }
}
