import ObjectIdentity
import Testing

@Suite struct ObjectURITests {
  @Test func aURIIsPrintedAsItWasRead() throws {
    for text in [
      "x-coredata://1F4E9F6C-0B6C-4C6E-9F0B-0D2E4A8C1B7D/Document/p42", "x-coredata://S/E/p1",
      "x-coredata://S/Größe/p9223372036854775807",
    ] {
      let uri = try #require(ObjectURI(text))
      #expect(uri.description == text)
      #expect(ObjectURI(store: uri.store, entity: uri.entity, key: uri.key) == uri)
    }
    let uri = try #require(ObjectURI("x-coredata://STORE/PoolJob/p17"))
    #expect(uri.store == "STORE" && uri.entity == "PoolJob" && uri.key == 17 && uri.name == "p17")
  }

  @Test(arguments: [
    "", "p1", "x-coredata://", "x-coredata://S", "x-coredata://S/E", "x-coredata://S/E/", "x-coredata://S/E/p",
    "x-coredata://S/E/1", "x-coredata://S/E/t1", "x-coredata://S/E/p-1", "x-coredata://S/E/p+1", "x-coredata://S/E/p0",
    "x-coredata://S/E/p01", "x-coredata://S/E/p1x", "x-coredata://S/E/p1/", "x-coredata://S/E/p1/x",
    "x-coredata:///E/p1", "x-coredata:///E/tABC1", "x-coredata://S//p1", "x-coredata://S/E e/p1",
    "x-coredata://S\n/E/p1", "x-coredata://S/E\u{7F}/p1", "x-coredata://S/E/p9223372036854775808",
    "x-coredata://S/E/p99999999999999999999", "http://S/E/p1", " x-coredata://S/E/p1", "x-coredata://S/E/p1 ",
  ]) func aTextThatNamesNoSavedObjectIsNoURI(text: String) {
    #expect(ObjectURI(text) == nil)
  }

  @Test func aNameIsALetterAndAKey() {
    #expect(ObjectURI.key(name: "p17") == 17)
    for name in ["17", "p", "p0", "p017", "p-1", "P17", "p17 ", "p9223372036854775808"] {
      #expect(ObjectURI.key(name: name) == nil, "\(name)")
    }
  }

  @Test func aTemporaryURINamesNoStore() throws {
    let uri = TemporaryObjectURI(entity: "Book", name: "PROCESS1")
    #expect(uri.description == "x-coredata:///Book/tPROCESS1" && TemporaryObjectURI(uri.description) == uri)
    #expect(ObjectURI(uri.description) == nil)
    for text in ["x-coredata://S/Book/p1", "x-coredata:///Book/p1", "x-coredata:///Book/t", "x-coredata:////t1", "t1"] {
      #expect(TemporaryObjectURI(text) == nil, "\(text)")
    }
  }
}
