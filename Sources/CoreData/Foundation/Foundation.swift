// `import CoreData` brings Foundation along, as it does on a Mac.
@_exported import Foundation
// The kinds of attributes and delete rules, and what is wrong with a model file.
@_exported import ModelFiles

/// Runs the body. There are no autoreleased objects on Linux; code for Apple's platforms that imports in portions calls
/// this.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
