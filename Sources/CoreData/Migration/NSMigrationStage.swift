/// A step of a staged migration: `NSLightweightMigrationStage` or `NSCustomMigrationStage`. Other subclasses have no
/// effect.
///
/// Pass a list of stages to `NSStagedMigrationManager.init(_:)`.
///
/// Source: Apple's documentation of `NSMigrationStage`.
open class NSMigrationStage: NSObject {
  /// A name for messages of the program: handlers get the stage. Default: nil.
  open var label: String?
}

/// Versions of a model that lightweight migration can bring to the last one of them.
///
/// ```swift
/// let description = NSPersistentStoreDescription(url: url)
/// let file = URL(fileURLWithPath: "Library.xcdatamodeld")
/// let checksums = try NSManagedObjectModel.checksumsForVersionedModel(at: file)
/// let stage = NSLightweightMigrationStage(["Library", "Library 2"].compactMap { checksums[$0] })
/// description.setOption(
///   NSStagedMigrationManager([stage]), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
/// ```
///
/// A store of any of the versions is migrated to the last one in one step, without the versions between.
///
/// Source: Apple's documentation of `NSLightweightMigrationStage`.
public final class NSLightweightMigrationStage: NSMigrationStage {
  /// The checksums of the versions, oldest first.
  ///
  /// `NSManagedObjectModel.versionChecksum`, or `checksumsForVersionedModel(at:)` for a bundle of versions.
  public let versionChecksums: [String]

  /// A stage from any of the versions to the last one.
  ///
  /// Opening throws 134504 if the model of the last version is not found: it is the coordinator's, one of another
  /// stage's references, one in use, or one in the program's bundles.
  public init(_ versionChecksums: [String]) {
    self.versionChecksums = versionChecksums
    super.init()
  }
}

/// A change between two versions of a model that needs the program's help before or after the lightweight migration:
/// see `NSStagedMigrationManager` for an example. Its handlers work with `NSManagedObject`s of the manager's container,
/// whatever classes the models name.
///
/// Source: Apple's documentation of `NSCustomMigrationStage`.
public final class NSCustomMigrationStage: NSMigrationStage {
  /// The version at which the stage begins. A store of another version skips the stage.
  public let currentModel: NSManagedObjectModelReference
  /// The version to which the stage leads.
  public let nextModel: NSManagedObjectModelReference
  /// Called before the migration, on the thread that opens the store, when the manager's container has the store open
  /// with the current model. Save what you change. What it throws ends the opening; the store stays at this version.
  /// Default: nil.
  public var willMigrateHandler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?
  /// Called after the migration, on the thread that opens the store, when the manager's container has the store open
  /// with the next model. Save what you change. If it throws, the store is migrated all the same, and the handler is
  /// not called again. Default: nil.
  public var didMigrateHandler: ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?

  /// A stage from one version to the next.
  ///
  /// - Parameters:
  ///   - currentModel: the version at which the stage begins.
  ///   - nextModel: the version that it leads to. It must be possible to infer a mapping between the two; the handlers
  ///     do the rest. For example, an attribute is optional in the next version until `didMigrateHandler` has filled
  ///     it.
  public init(
    migratingFrom currentModel: NSManagedObjectModelReference, to nextModel: NSManagedObjectModelReference
  ) {
    self.currentModel = currentModel
    self.nextModel = nextModel
    super.init()
  }
}
