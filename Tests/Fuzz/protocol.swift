import WorkerProtocol

/// Lines of workers and of the pool: any bytes are messages, or refused with an error; in pieces they mean the same.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  let whole = lines(of: [bytes])
  let pieces = lines(of: bytes.map { [$0] })
  guard whole == pieces else { fatalError("the pieces are other lines than the whole") }
  return 0
}

private func lines(of parts: [[UInt8]]) -> [String] {
  var decoder = LineDecoder()
  var found: [String] = []
  do {
    for part in parts {
      decoder.append(part)
      while let line = try decoder.next() {
        let worker = Result { try WorkerMessage(line: line) }
        let pool = Result { try CoordinatorMessage(line: line) }
        found.append("\(worker) \(pool)")
      }
    }
  } catch {
    found.append("\(error)")
  }
  return found
}
