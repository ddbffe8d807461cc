import Foundation
import ModelFiles

/// Models on disk: any bytes are a model, or refused with an error, as XML and as the "elements" of old tools.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let data = Data(bytes: start, count: count)
  _ = try? ModelElements(data).document()
  _ = try? ModelDocument(compiled: String(decoding: data, as: UTF8.self), name: "Fuzz")
  return 0
}
