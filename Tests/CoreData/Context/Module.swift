// What all targets of `Tests/CoreData` share.
@_exported import CoreDataTestSupport
