import Jobs

/// Job files: any bytes are jobs, or refused with an error. The jobs of a file, written as a file, are the same jobs.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  guard let jobs = try? JobFile.parse(bytes) else { return 0 }
  do {
    let text = try JobFile.text(jobs)
    let again = try JobFile.parse(Array(text.utf8))
    guard again.count == jobs.count, try JobFile.text(again) == text else {
      fatalError("the jobs that were written are others: \(text)")
    }
  } catch {
    fatalError("what was written cannot be read: \(error)")
  }
  return 0
}
