// All suites of Core Data work on stores of the library, and see both modules.
@_exported import LibraryStore
