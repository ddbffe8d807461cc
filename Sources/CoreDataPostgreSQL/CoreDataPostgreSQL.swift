// A program that imports this module has Core Data, whose coordinators then open stores of `NSPostgreSQLStoreType`.
@_exported public import CoreData

/// `CoreData` finds this type by its name.
package enum ServerModule: StoreModule {
  package static var storeClass: any PlacedStore.Type { ServerStore.self }
}
