// A program that imports this module has Core Data, whose coordinators then open stores of `NSPostgreSQLStoreType`.
@_exported public import CoreData

/// `CoreData` finds this type by its name, so importing the module is enough to open stores at a server. It makes a
/// class of stores known and runs nothing.
///
/// libpq is loaded when the first such store is opened: without the package libpq5, version 14 or later, opening it
/// throws an error that names the package.
package enum ServerModule: StoreModule {
  package static var storeClass: any PlacedStore.Type { ServerStore.self }
}
