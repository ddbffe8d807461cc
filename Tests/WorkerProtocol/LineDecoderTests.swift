import Testing
import WorkerProtocol

/// Feeds a stream to fresh decoders in every way that matters: one byte at a time, all at once, and cut in two at each
/// place.
private func lines(of bytes: [UInt8], limit: Int = ProtocolLimit.lineBytes) throws -> [String] {
  func decode(_ pieces: [ArraySlice<UInt8>]) throws -> [String] {
    var decoder = LineDecoder(limit: limit)
    var lines: [String] = []
    for piece in pieces {
      decoder.append(piece)
      while let line = try decoder.next() { lines.append(line) }
    }
    return lines
  }
  let whole = try decode([bytes[...]])
  #expect(try decode(bytes.indices.map { bytes[$0...$0] }) == whole)
  for cut in bytes.indices {
    #expect(try decode([bytes[..<cut], bytes[cut...]]) == whole)
  }
  return whole
}

@Suite struct LineDecoderTests {
  @Test func handsOverWholeLinesHoweverTheStreamIsCut() throws {
    #expect(try lines(of: Array("HELLO 1 t k\n\nDONE ü\nCRED".utf8)) == ["HELLO 1 t k", "", "DONE ü"])
  }

  @Test func asksForMoreUntilTheNewlineCame() throws {
    var decoder = LineDecoder()
    decoder.append(Array("CREDIT 1".utf8))
    #expect(try decoder.next() == nil)
    #expect(decoder.pendingBytes == 8)
    decoder.append([0x0A])
    #expect(try decoder.next() == "CREDIT 1")
    #expect(try decoder.next() == nil)
  }

  @Test func acceptsALineOfExactlyTheLimitAndNoLongerOne() throws {
    #expect(try lines(of: Array("1234567\n".utf8), limit: 8) == ["1234567"])
    #expect(throws: MessageError.lineTooLong(limit: 8)) { try lines(of: Array("12345678\n".utf8), limit: 8) }
  }

  @Test func reportsALineTooLongBeforeItsNewlineComes() throws {
    var decoder = LineDecoder(limit: 8)
    decoder.append(Array("12345678".utf8))
    #expect(throws: MessageError.lineTooLong(limit: 8)) { try decoder.next() }
  }

  @Test func rejectsBytesThatAreNotUTF8() throws {
    #expect(throws: MessageError.invalidUTF8) { try lines(of: [0x44, 0xFF, 0x0A]) }
  }

  @Test func keepsItsBufferSmallInALongStream() throws {
    var decoder = LineDecoder(limit: 64)
    for _ in 0..<10_000 {
      decoder.append(Array("0123456789\n01234".utf8))
      #expect(try decoder.next() != nil)
      decoder.append([0x0A])
      #expect(try decoder.next() == "01234")
      #expect(decoder.pendingBytes == 0)
    }
  }
}
