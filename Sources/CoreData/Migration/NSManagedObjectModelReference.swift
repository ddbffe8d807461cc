/// Names a version of a model, which is looked up when a stage of a migration needs it.
///
/// ```swift
/// let reference = NSManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum)
/// print(reference.resolvedModel.entities.count)
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
  /// Write it as a constant: computed from the model itself it would guard against nothing.
  public let versionChecksum: String
  private let find: () throws -> NSManagedObjectModel?

  private init(_ versionChecksum: String, _ find: @escaping () throws -> NSManagedObjectModel?) {
    self.versionChecksum = versionChecksum
    self.find = find
    super.init()
  }

  /// Names a model that the program has already. Its checksum must be the one given, or it counts as not found.
  ///
  /// The reference holds the model. It suits a program that makes its models in code, or has them embedded.
  ///
  /// The checksum decides as well: a model with it is found even if the hashes were given incompletely. All models of
  /// the bundles are read.
  public convenience init(model: NSManagedObjectModel, versionChecksum: String) {
    self.init(versionChecksum) { model }
  }

  /// Names the model in a file; of a bundle of versions, the one with the checksum.
  ///
  /// The file is read when a stage needs it, and each time it does. Which forms can be read says
  /// `NSManagedObjectModel.init(contentsOf:)`.
  public convenience init(fileURL: URL, versionChecksum: String) {
    self.init(versionChecksum) {
      guard fileURL.pathExtension.hasSuffix("d") else { return try NSManagedObjectModel.load(contentsOf: fileURL) }
      return try NSManagedObjectModel.versions(at: fileURL).values.first { $0.versionChecksum == versionChecksum }
    }
  }

  /// Names a model by its entities' version hashes, among the models of a bundle; nil means the program's bundles.
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
  /// checksum counts as not found; only if there is none of the name, one with the checksum is taken.
  public convenience init(name modelName: String, in bundle: Bundle?, versionChecksum: String) {
    self.init(versionChecksum) {
      let bundles = bundle.map { [$0] } ?? Bundle.ofProgram
      return SourceModels.versions(in: bundles, named: modelName).first
        ?? SourceModels.versions(in: bundles).first { $0.versionChecksum == versionChecksum }
    }
  }

  /// The model. Traps if there is none.
  ///
  /// Handlers of stages need it rarely: the manager's container has a store open with it. Opening a store by stages
  /// does not trap, it throws 134504.
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
