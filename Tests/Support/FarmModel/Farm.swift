import CoreData

/// A model with classes in a module of its own, as an app keeps its model in a library.
public enum Farm {
  public static func model() -> NSManagedObjectModel? {
    Bundle.module.url(forResource: "Farm", withExtension: "momd").flatMap { NSManagedObjectModel(contentsOf: $0) }
  }
}
