// `import CoreData` brings Foundation along, as it does on a Mac.
@_exported import Foundation
