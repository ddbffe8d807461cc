import Foundation
import ModelFiles

/// Binary property lists: any bytes are read, or refused with an error. What was read is written and read again.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var data = Data("bplist00".utf8)
  data.append(start, count: count)
  guard let list = try? BinaryPropertyList(data) else { return 0 }
  _ = try? list.hasSets()
  guard let root = try? list.root() else { return 0 }
  let written = BinaryPropertyListWriter.data(root)
  guard (try? BinaryPropertyList(written).root()) != nil else { fatalError("what was written cannot be read") }
  return 0
}
