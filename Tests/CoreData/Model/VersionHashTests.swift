import Foundation
import Testing

@testable import CoreData

@Suite("Version hashes") struct VersionHashTests {
  @Test("SHA-256 gives the standard's vectors") func sha256() {
    #expect(
      SHA256.hash("abc".utf8).hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      SHA256.hash("".utf8).hexadecimal == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(
      SHA256.hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8).hexadecimal
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    #expect(
      SHA256.hash(repeatElement(UInt8(ascii: "a"), count: 1_000_000)).hexadecimal
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test("SHA-512 gives the standard's vectors") func sha512() {
    #expect(
      SHA512.hash("abc".utf8).hexadecimal
        == "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
        + "454d4423643ce80e2a9ac94fa54ca49f")
    #expect(
      SHA512.hash("".utf8).hexadecimal
        == "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f"
        + "63b931bd47417a81a538327af927da3e")
  }

  @Test("User of SampleModel3 has the hash that Apple recorded") func knownEntity() {
    let name = NSAttributeDescription()
    name.name = "name"
    name.attributeType = .stringAttributeType
    name.isOptional = false
    let petName = NSAttributeDescription()
    petName.name = "petName"
    petName.attributeType = .stringAttributeType
    let user = NSEntityDescription()
    user.name = "User"
    user.properties = [petName, name]

    #expect(
      user.versionHash.hexadecimal == "6b31f4e97b691d16c4c820bae55f89408d47013bd42151ecfde1eac7fe4be798")
  }

  @Test(
    "Every entity of every store's model has the hash in the store's metadata, as Apple's framework wrote it",
    .disabled(if: ModelFixtures.areMissing, "no fixtures")) func storedHashes() throws
  {
    var checked = 0
    for store in StoreModels.names {
      guard let cache = try ModelFixtures.cachedModel(ofStore: store) else { continue }
      for case let derived as NSDerivedAttributeDescription in cache.model.entities.flatMap(\.declaredProperties) {
        // `modelcache.json` leaves derivations out. This is the only one in the fixtures.
        #expect(derived.name == "pagesCount")
        derived.derivationExpression = NSExpression(format: "pages.@count")
      }
      for entity in cache.model.entities {
        let name = entity.name ?? ""
        guard let expected = cache.versionHashes[name] else { continue }
        #expect(entity.versionHash.hexadecimal == expected, "\(store): \(name)")
        checked += 1
      }
    }
    #expect(checked > 150)
  }

  @Test(
    "Every version of a compiled model has the hashes in its VersionInfo.plist",
    arguments: ModelFixtures.arguments(
      own: [("Harbour-1", "Harbour")],
      apple: [("CoreDataPlus-SampleModel-V1", "SampleModel"), ("CoreDataPlus-SampleModel3-V1", "SampleModel3")]))
  func compiledHashes(store: String, model: String) throws {
    let folder = try ModelFixtures.folder("stores/\(store)/model")
    let data = try Data(contentsOf: folder.appendingPathComponent("\(model).momd/VersionInfo.plist"))
    let info = try #require(
      PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
    let hashes = try #require(info["NSManagedObjectModel_VersionHashes"] as? [String: [String: Data]])
    let versions = try NSManagedObjectModel.versions(
      at: folder.appendingPathComponent("\(model).xcdatamodeld"))

    #expect(hashes.count == 3)
    for (version, expected) in hashes {
      #expect(try #require(versions[version]).entityVersionHashesByName == expected, "\(version)")
    }
  }

  @Test("A change that the store does not notice leaves the hash, a change of the schema does not") func sensitivity() {
    func hash(_ change: (NSEntityDescription, NSAttributeDescription) -> Void = { _, _ in }) -> Data {
      let title = NSAttributeDescription()
      title.name = "title"
      title.attributeType = .stringAttributeType
      let entity = NSEntityDescription()
      entity.name = "Document"
      entity.properties = [title]
      change(entity, title)
      return entity.versionHash
    }
    let original = hash()
    #expect(hash { entity, _ in entity.managedObjectClassName = "Letter" } == original)
    #expect(hash { _, title in title.defaultValue = "Untitled" } == original)
    #expect(hash { entity, _ in entity.renamingIdentifier = "Paper" } == original)
    #expect(hash { _, title in title.isOptional = false } != original)
    #expect(hash { _, title in title.attributeType = .URIAttributeType } != original)
    #expect(hash { _, title in title.isTransient = true } != original)
    #expect(hash { entity, _ in entity.uniquenessConstraints = [["title"]] } != original)
    #expect(hash { entity, _ in entity.versionHashModifier = "2" } != original)
    #expect(hash { entity, _ in entity.userInfo = ["a": "b"] } == original)
    #expect(hash { _, title in title.userInfo = ["a": "b"] } == original)
    #expect(hash { _, title in title.versionHashModifier = "2" } != original)
    #expect(
      hash { _, title in
        title.setValidationPredicates([NSPredicate(value: true)], withValidationWarnings: [])
      } == original)
    #expect(
      hash { entity, title in
        let element = NSFetchIndexElementDescription(property: title, collationType: .binary)
        entity.indexes = [NSFetchIndexDescription(name: "byTitle", elements: [element])]
      } == original)
  }

  @Test("Of a relationship, all counts that says where it leads and how often, and its delete rule does not")
  func relationshipSensitivity() {
    func hash(_ change: (NSRelationshipDescription) -> Void = { _ in }) -> Data {
      let (author, book, other) = (NSEntityDescription(), NSEntityDescription(), NSEntityDescription())
      for (entity, name) in [(author, "Author"), (book, "Book"), (other, "Other")] { entity.name = name }
      let (books, writer, second) = (
        NSRelationshipDescription(), NSRelationshipDescription(), NSRelationshipDescription()
      )
      for (relationship, name, destination) in [
        (books, "books", book), (writer, "author", author), (second, "second", author),
      ] {
        relationship.name = name
        relationship.destinationEntity = destination
      }
      books.inverseRelationship = writer
      writer.inverseRelationship = books
      author.properties = [books]
      book.properties = [writer, second]
      change(books)
      return withExtendedLifetime((author, book, other)) { author.versionHash }
    }
    let original = hash()
    #expect(hash { $0.deleteRule = .cascadeDeleteRule } == original)
    #expect(hash { $0.maxCount = 1 } != original)
    #expect(hash { $0.minCount = 1 } != original)
    #expect(hash { $0.isOrdered = true } != original)
    #expect(hash { $0.isOptional = false } != original)
    #expect(hash { $0.inverseRelationship = $0.destinationEntity?.relationshipsByName["second"] } != original)
    #expect(hash { $0.destinationEntity?.name = "Volume" } != original)
  }
}
