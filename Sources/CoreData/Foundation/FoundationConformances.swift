/// Types whose conformances Foundation finds at run time only.
///
/// A static link takes only those files of an archive that other code refers to. No code refers to the file that lets
/// an `Array` become an `NSArray`, since casts look conformances up while the program runs. A program that is built
/// with `--static-swift-stdlib` then has arrays that Foundation cannot take: `PropertyListSerialization` writes none,
/// for example. This list names these files; nothing reads it. It is visible to the package, so that the optimiser
/// keeps it.
package var conformancesFoundAtRunTime: [any _ObjectiveCBridgeable.Type] {
  [
    [Any].self, Set<AnyHashable>.self, [AnyHashable: Any].self, Decimal.self, IndexPath.self, URLComponents.self,
    DateComponents.self, DateInterval.self,
  ]
}
