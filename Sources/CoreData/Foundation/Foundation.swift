// `import CoreData` brings Foundation along, as it does on a Mac.
@_exported import Foundation
// The kinds of attributes and delete rules, and the errors of model files.
@_exported import ModelFiles

/// Runs the body. There are no autoreleased objects on Linux: it lets code compile that is written for Apple's
/// platforms too.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
