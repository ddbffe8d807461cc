/// The place in iCloud of a store. Kept without effect: Linux has no CloudKit.
///
/// `@unchecked Sendable`: constant.
open class NSPersistentCloudKitContainerOptions: NSObject, @unchecked Sendable {
  /// The identifier of the iCloud container, such as "iCloud.com.example.app".
  public let containerIdentifier: String

  /// Names a container in iCloud.
  public init(containerIdentifier: String) {
    self.containerIdentifier = containerIdentifier
    super.init()
  }
}
