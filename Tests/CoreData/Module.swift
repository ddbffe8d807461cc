// All suites of this module work on stores of the library.
@_exported import LibraryStore
