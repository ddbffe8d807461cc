import CoreData

/// A model with generated classes in a module of its own, like an app that keeps its model in a library.
public enum Farm {
  /// The compiled model among this module's resources; nil if it is missing.
  public static func model() -> NSManagedObjectModel? {
    Bundle.module.url(forResource: "Farm", withExtension: "momd").flatMap { NSManagedObjectModel(contentsOf: $0) }
  }
}
