// For all suites of this module.
@_exported import CoreDataTestSupport
