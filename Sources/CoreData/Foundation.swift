// `import CoreData` brings Foundation along, as it does on a Mac.
@_exported import Foundation
// The kinds of attributes and delete rules, and what is wrong with a model file.
@_exported import ModelFiles
