import CZlib

/// DEFLATE data without a header (RFC 1951), the form of the model that a SQLite store keeps.
///
/// `Z_MODELCACHE` holds it as raw DEFLATE, without the header and checksum of zlib's own form, as Apple's framework
/// writes it. The whole data is in memory at once, since models are small.
///
/// Source: RFC 1951; https://www.zlib.net/manual.html, "Advanced Functions".
enum Deflate {
  /// Negative: no header and no checksum. 2^15 bytes are the longest window. Source: zlib.h, `deflateInit2`.
  private static let windowBits: Int32 = -15
  /// The memory that zlib uses for its state; its default. Source: zlib.h.
  private static let memoryLevel: Int32 = 8

  /// Packs data.
  ///
  /// `deflateBound` gives the largest size that the result can have, so one call of `deflate` finishes. It fails only
  /// without memory, which ends the process.
  static func pack(_ data: Data) -> Data {
    var stream = z_stream()
    let opened = deflateInit2_(
      &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    precondition(opened == Z_OK, "zlib refuses its own defaults only without memory")
    defer { deflateEnd(&stream) }
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(data.count))))
    let count = withBuffers(for: data, output: &output, stream: &stream) { stream in
      // The output is large enough for one call.
      _ = deflate(&stream, Z_FINISH)
    }
    return Data(output[..<count])
  }

  /// The data; nil if it is damaged, not complete, or longer than the limit.
  ///
  /// The size of the result is not in the data. It is guessed at eight times the packed size; if that is too small,
  /// everything is unpacked again into four times as much, which is simpler than joining pieces and happens for very
  /// regular models only. The limit keeps a damaged or hostile file from filling the memory: a few KB of DEFLATE can
  /// stand for a GB.
  ///
  /// - Parameter limit: the most bytes that the result may have.
  static func unpack(_ data: Data, limit: Int = 64 << 20) -> Data? {
    var stream = z_stream()
    guard inflateInit2_(&stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      return nil
    }
    defer { inflateEnd(&stream) }
    var size = min(limit, max(4096, data.count * 8))
    while true {
      var output = [UInt8](repeating: 0, count: size)
      var result: Int32 = Z_OK
      let count = withBuffers(for: data, output: &output, stream: &stream) { stream in
        result = inflate(&stream, Z_FINISH)
      }
      if result == Z_STREAM_END { return Data(output[..<count]) }
      // Z_BUF_ERROR: the output is full, or the input ends too early.
      guard result == Z_BUF_ERROR, count == size, size < limit else { return nil }
      inflateReset(&stream)
      size = min(limit, size * 4)
    }
  }

  /// Runs the body on a stream that reads from `data` and writes into `output`; returns the number of bytes written.
  ///
  /// zlib keeps pointers into both buffers while the body runs, and none afterwards.
  private static func withBuffers(
    for data: Data, output: inout [UInt8], stream: inout z_stream, _ body: (inout z_stream) -> Void
  ) -> Int {
    var input = Array(data)
    return input.withUnsafeMutableBufferPointer { source in
      output.withUnsafeMutableBufferPointer { target in
        stream.next_in = source.baseAddress
        stream.avail_in = UInt32(source.count)
        stream.next_out = target.baseAddress
        stream.avail_out = UInt32(target.count)
        body(&stream)
        return target.count - Int(stream.avail_out)
      }
    }
  }
}
