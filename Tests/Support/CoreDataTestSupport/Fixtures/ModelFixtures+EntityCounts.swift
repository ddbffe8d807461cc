extension ModelFixtures {
  /// The number of entities by model: those of its largest version.
  package static let entityCounts = Dictionary(
    uniqueKeysWithValues: arguments(
      own: [("Harbour", 10), ("Journal", 1)], apple: appleCounts.map { ($0.key, $0.value) }))

  /// Those of Apple's fixtures, as their table counts them. The table counts none for MagicalRecord-Recipes, whose
  /// files have the old "elements" form; it has four.
  private static let appleCounts: [String: Int] = [
    "CoreDataPlus-SampleModel": 5, "CoreDataPlus-SampleModel3": 2, "CoreStore-TestModel": 2, "CoreStore-ColorsDemo": 1,
    "CoreStore-EvolutionDemo-V1": 1, "CoreStore-EvolutionDemo-V2": 1, "objcio-Moody-Migrations": 4,
    "objcio-Moody-Chapter1.2": 4, "Kodeco-HitList": 1, "Kodeco-BowTies": 1, "Kodeco-DogWalk": 2,
    "Kodeco-BubbleTeaFinder": 5, "Kodeco-WorldCup": 1, "Kodeco-EmployeeDirectory": 3, "Kodeco-DogDoodies": 2,
    "RestKit-VersionedModel": 2, "RestKit-RKSearchExample": 1, "Ensembles-Idiomatic": 3,
    "Ensembles-CDEEventStoreModel": 5, "Ensembles-StoreModificationEventTests": 2, "BNR-Sample": 3,
    "BNR-UniqueConstraintModel": 3, "BNR-Container_Example": 3, "PeakCoreData-TestModel": 3, "CDQI-Developers": 2,
    "CoreDataEvolution-Integration": 2, "SwiftGen-Model": 8, "DDG-BookmarksModel": 1, "DDG-SyncMetadata": 2,
    "DDG-HTTPSUpgrade": 2, "DDG-PrivacyStats": 1, "DDG-RemoteMessaging": 2, "Sync-PropertyMapper": 12,
    "Sync-Ordered": 2, "Sync-ordered-many-to-many": 2, "Maccy-Storage": 2, "MagicalRecord-Recipes": 4,
    "Migration-Post": 2,
  ]
}
