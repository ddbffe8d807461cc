/// Names a version of a model, which is looked up when a stage of a migration needs it.
///
/// ```swift
/// // The checksum as `print(model.versionChecksum)` wrote it when this version was released.
/// let checksum = "5Vd3cTRBqVvFJ2yJx0oRzv2hWqS1n8mQkE7uYp4aLbc="
/// let reference = NSManagedObjectModelReference(name: "Library 2", in: nil, versionChecksum: checksum)
/// ```
///
/// The checksum guards against a model that was changed by mistake: a model with another one counts as not found
/// (134504).
///
/// Source: Apple's documentation of `NSManagedObjectModelReference`.
///
/// `@unchecked Sendable`: immutable; a model in use is immutable too.
public final class NSManagedObjectModelReference: NSObject, @unchecked Sendable {
  /// The checksum of the model, as `NSManagedObjectModel.versionChecksum` gives it.
  ///
  /// Write it as a constant: a checksum that is computed from the model itself always fits.
  public let versionChecksum: String
  private let find: () throws -> NSManagedObjectModel?

  private init(_ versionChecksum: String, _ find: @escaping () throws -> NSManagedObjectModel?) {
    self.versionChecksum = versionChecksum
    self.find = find
    super.init()
  }

  /// Refers to a model that the program has already. Its checksum must be the one given, or it counts as not found.
  ///
  /// Use it for models that are made in code or embedded. The reference keeps the model alive.
  public convenience init(model: NSManagedObjectModel, versionChecksum: String) {
    self.init(versionChecksum) { model }
  }

  /// Names the model in a file; of a bundle of versions, the one with the checksum.
  ///
  /// Each stage that needs the model reads the file. `NSManagedObjectModel.init(contentsOf:)` lists the forms that can
  /// be read.
  public convenience init(fileURL: URL, versionChecksum: String) {
    self.init(versionChecksum) {
      guard fileURL.pathExtension.hasSuffix("d") else { return try NSManagedObjectModel.load(contentsOf: fileURL) }
      return try NSManagedObjectModel.versions(at: fileURL).values.first { $0.versionChecksum == versionChecksum }
    }
  }

  /// Names a model by its entities' version hashes, among the models of a bundle; nil means the program's bundles.
  ///
  /// A model with other hashes is found too if it has the checksum. All models of the bundles are read.
  public convenience init(
    entityVersionHashes versionHash: [AnyHashable: Any], in bundle: Bundle?, versionChecksum: String
  ) {
    let hashes = versionHash as? [String: Data]
    self.init(versionChecksum) {
      SourceModels.versions(in: bundle.map { [$0] } ?? Bundle.ofProgram).first {
        $0.entityVersionHashesByName == hashes || $0.versionChecksum == versionChecksum
      }
    }
  }

  /// Names a version by its name, among the models of a bundle; nil means the program's bundles.
  ///
  /// The name is that of a version's file, "Library 2" for "Library 2.xcdatamodel". A version of this name with another
  /// checksum counts as not found. If no version has the name, one with the checksum is taken.
  public convenience init(name modelName: String, in bundle: Bundle?, versionChecksum: String) {
    self.init(versionChecksum) {
      let bundles = bundle.map { [$0] } ?? Bundle.ofProgram
      return SourceModels.versions(in: bundles, named: modelName).first
        ?? SourceModels.versions(in: bundles).first { $0.versionChecksum == versionChecksum }
    }
  }

  /// The model. Traps if there is none.
  ///
  /// Handlers of stages rarely need it: the manager's container has the store open with it. Opening a store does not
  /// trap for a missing model but throws 134504.
  public var resolvedModel: NSManagedObjectModel {
    do {
      return try resolve()
    } catch {
      fatalError("NSManagedObjectModelReference.resolvedModel: \(error.localizedDescription)")
    }
  }

  /// - Throws: 134504 if there is no such model, or it has another checksum.
  func resolve() throws -> NSManagedObjectModel {
    guard let model = try find(), model.versionChecksum == versionChecksum else {
      throw CoreDataErrors.error(
        .managedObjectModelReferenceNotFound, "No model with the checksum \(versionChecksum) was found.")
    }
    return model
  }
}
