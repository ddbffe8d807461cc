/// Types whose conformances Foundation finds at run time only.
///
/// A static link takes only those files of an archive that other code refers to. No code refers to the file that lets
/// an `Array` become an `NSArray`, since casts look conformances up while the program runs. In a program that is built
/// with `--static-swift-stdlib` such casts then fail: `PropertyListSerialization` cannot write an array, for example.
/// This list refers to these files; nothing reads it. It is visible to the package, so that the optimiser keeps it.
package var conformancesFoundAtRunTime: [any _ObjectiveCBridgeable.Type] {
  [
    [Any].self, Set<AnyHashable>.self, [AnyHashable: Any].self, Decimal.self, IndexPath.self, URLComponents.self,
    DateComponents.self, DateInterval.self,
  ]
}
