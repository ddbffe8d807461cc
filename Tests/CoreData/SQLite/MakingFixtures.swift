import Foundation
import TestFiles
import Testing

@testable import CoreData

/// Makes the stores, the compiled model and the mapping model of `Tests/Fixtures` from the models there. It runs on
/// request only, since the point of these files is that a former program wrote them:
///
///     WORKERPOOL_MAKE_FIXTURES=Tests/Fixtures swift test --filter MakingFixtures
@Suite(.enabled(if: fixtureFolder != nil, "set WORKERPOOL_MAKE_FIXTURES"), .serialized)
struct MakingFixtures {
  private let folder: URL
  private let harbour: [String: NSManagedObjectModel]

  init() throws {
    folder = URL(fileURLWithPath: try #require(fixtureFolder))
    harbour = try NSManagedObjectModel.versions(at: folder.appendingPathComponent("models/Harbour.xcdatamodeld"))
    for model in harbour.values { Self.makePlain(model) }
  }

  /// `Harbour-1` has rows of each kind, a history, an unfinished log and a value in a file. `Harbour-2` is the same
  /// store, migrated in place and changed since.
  @Test func harbourStores() throws {
    let work = temporaryURL("making")
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: work) }
    let file = work.appendingPathComponent("store.sqlite")
    let first = try #require(harbour["Harbour"])
    try withContext(first, file) { try fill($0) }
    _ = try StoreFixtures.rows(
      "UPDATE ZASSET SET ZCARGO = x'\(Self.unknownArchive().hexadecimal)' WHERE ZNAME = 'Tug 2'", inFile: file)
    let large = ExternalPhotos.folder(of: file)
    for name in ExternalPhotos.files(beside: file) {
      // The file of a value may have any length; a short one keeps the repository small.
      try Data("a photo that lies in a file".utf8).write(to: large.appendingPathComponent(name))
    }
    try withContext(first, file) { context in
      context.transactionAuthor = "harbour master"
      try context.all("Sailor", sort: "last")[0].setValue("AB12", forKey: "licence")
      try context.save()
      try publish(work, as: "Harbour-1")
    }
    let second = try #require(harbour["Harbour 2"])
    try withContext(second, file) { context in
      let pilot = context.make("Pilot", ["name": "Petra"])
      for tug in try context.all("Tug") { tug.setValue(pilot, forKey: "pilot") }
      try context.save()
    }
    try publish(work, as: "Harbour-2")
  }

  /// A store without a copy of its model, as Apple's were before 2015, with most of its rows in the log.
  @Test func journalStore() throws {
    let work = temporaryURL("making")
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: work) }
    let file = work.appendingPathComponent("store.sqlite")
    let model = try NSManagedObjectModel.load(contentsOf: folder.appendingPathComponent("models/Journal.xcdatamodeld"))
    Self.makePlain(model)
    try withContext(model, file, options: [:]) { _ in }
    _ = try StoreFixtures.rows("DROP TABLE Z_MODELCACHE", inFile: file)
    try withContext(model, file, options: [:]) { context in
      let places = ["Nörderney", "It's \"calm\"", "Sylt", "浜辺"]
      for number in 0..<400 {
        context.make(
          "Entry",
          [
            "date": Date(timeIntervalSinceReferenceDate: Double(number) * 86_413.7 + 0.1 / Double(number + 1)),
            "depth": Double(number) / 7, "place": places[number % 4], "rating": number % 6,
            "swell": Float(number % 11) / 4,
          ])
      }
      try context.save()
      try publish(work, as: "Journal")
    }
  }

  /// The compiled form of the harbour's models.
  @Test func compiledModel() throws {
    let bundle = folder.appendingPathComponent("stores/Harbour-1/model/Harbour.momd")
    try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
    let versions = try NSManagedObjectModel.versions(at: folder.appendingPathComponent("models/Harbour.xcdatamodeld"))
    for (name, model) in versions {
      try ModelArchive.data(of: model).write(to: bundle.appendingPathComponent("\(name).mom"))
    }
    let info: [String: Any] = [
      "NSManagedObjectModel_CurrentVersionName": "Harbour 3",
      "NSManagedObjectModel_VersionHashes": versions.mapValues(\.entityVersionHashesByName),
    ]
    try PropertyListSerialization.data(fromPropertyList: info, format: .xml, options: 0)
      .write(to: bundle.appendingPathComponent("VersionInfo.plist"))
  }

  /// A mapping model in Xcode's form: vessels get the quays of their berths, and all else stays.
  @Test func mappingModel() throws {
    let file = folder.appendingPathComponent("mappings/Harbour2-Harbour3.xcmappingmodel/xcmapping.xml")
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    let model = try #require(harbour["Harbour 3"])
    try Data(MappingText(model).text.utf8).write(to: file)
  }

  // MARK: Rows

  private func fill(_ context: NSManagedObjectContext) throws {
    let quays = ["North", "South"].map { context.make("Quay", ["name": $0]) }
    let berths = (1...5).map { number in
      context.make("Berth", ["code": "B\(number)", "depth": Double(number) * 1.1, "quay": quays[number % 2]])
    }
    let sailors = zip(["Ada", "Bo", "Cy", "Dee"], ["Öst", "O'Hara", "Stone", ""]).map { first, last in
      context.make("Sailor", ["first": first, "last": last, "born": Date(timeIntervalSinceReferenceDate: -1e9 - 0.25)])
    }
    sailors[0].setValue(NSOrderedSet(array: [sailors[2], sailors[1], sailors[3]]), forKey: "friends")
    sailors[1].setValue(NSOrderedSet(array: [sailors[0], sailors[1]]), forKey: "friends")
    for (index, entity) in ["Vessel", "Yacht", "Racer", "Tug", "Tug", "Vessel"].enumerated() {
      let vessel = context.make(entity, ["name": "\(entity) \(index % 3)", "masts": index, "number": index])
      vessel.setValue(berths[index % 3], forKey: "berth")
      vessel.setValue(Set(sailors.prefix(index)), forKey: "crew")
      if index < 3 { vessel.setValue(sailors[index], forKey: "captain") }
    }
    try extremes(context.all("Vessel", where: "number == 0")[0], berths)
    try context.all("Racer")[0].setValue("Ship & Co", forKey: "sponsor")
    try context.all("Tug", sort: "number")[0].setValue("Tow & Co", forKey: "sponsor")
    for hour in 0..<6 {
      context.make(
        "Tide",
        ["time": Date(timeIntervalSinceReferenceDate: Double(hour) * 3600), "height": NSDecimalNumber(value: hour)])
    }
    try context.save()
    context.transactionAuthor = "harbour master"
    context.name = "office"
    let yacht = try context.all("Yacht", where: "number == 1")[0]
    yacht.setValue(31.5, forKey: "sailArea")
    yacht.setValue(false, forKey: "isAfloat")
    try context.save()
    context.delete(try context.all("Vessel", where: "number == 5")[0])
    try context.save()
    context.delete(try context.all("Tide")[5])
    try context.save()
    let coordinator = try #require(context.persistentStoreCoordinator)
    let store = try #require(coordinator.persistentStores.first)
    let token = try #require(coordinator.currentPersistentHistoryToken(fromStores: nil))
    var metadata = coordinator.metadata(for: store)
    metadata["HarbourToken"] = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    coordinator.setMetadata(metadata, for: store)
    berths[4].setValue("B5 \u{1F6A2}\n", forKey: "code")
    try context.save()
  }

  /// The values at the ends of each kind's range.
  private func extremes(_ vessel: NSManagedObject, _ berths: [NSManagedObject]) {
    let values: [String: Any] = [
      "name": "Vessel 0", "registration": UUID(), "built": Date(timeIntervalSinceReferenceDate: 0.1),
      "cargo": ["coal", "sand"] as NSArray, "draught": Float.leastNonzeroMagnitude,
      "length": Double.greatestFiniteMagnitude, "logo": Data([0, 1, 254, 255]), "masts": Int16.min,
      "number": Int64.min, "page": URL(string: "https://example.org/a%20b?c=d#e") as Any,
      "photo": Data(repeating: 7, count: 150_000), "position": ["latitude": -53.5, "longitude": 8.25],
      "price": NSDecimalNumber(string: "1234567.25"), "tonnage": Int32.max,
    ]
    for (key, value) in values { vessel.setValue(value, forKey: key) }
    vessel.setValue(Set(berths.prefix(2)), forKey: "ownedBerths")
  }

  /// An archive of an object whose class no program has.
  private static func unknownArchive() -> Data {
    let archiver = NSKeyedArchiver(requiringSecureCoding: false)
    archiver.setClassName("Harbour.Manifest", for: NSNumber.self)
    archiver.encode(NSNumber(value: 7), forKey: NSKeyedArchiveRootObjectKey)
    return archiver.encodedData
  }

  // MARK: Files

  private static func makePlain(_ model: NSManagedObjectModel) {
    for entity in model.entities { entity.managedObjectClassName = "NSManagedObject" }
  }

  private func withContext(
    _ model: NSManagedObjectModel, _ file: URL,
    options: [AnyHashable: Any] = [
      NSPersistentHistoryTrackingKey: true, NSMigratePersistentStoresAutomaticallyOption: true,
      NSInferMappingModelAutomaticallyOption: true,
    ],
    _ body: (NSManagedObjectContext) throws -> Void
  ) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: options)
    let context = coordinator.context()
    try context.performAndWait { try body(context) }
    try coordinator.remove(store)
  }

  /// Copies a store's files among the fixtures.
  private func publish(_ work: URL, as name: String) throws {
    let target = folder.appendingPathComponent("stores/\(name)")
    try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
    for file in ["store.sqlite", "store.sqlite-wal", ".store_SUPPORT"] {
      let copy = target.appendingPathComponent(file)
      if FileManager.default.fileExists(atPath: copy.path) { try FileManager.default.removeItem(at: copy) }
      let source = work.appendingPathComponent(file)
      guard FileManager.default.fileExists(atPath: source.path) else { continue }
      try FileManager.default.copyItem(at: source, to: copy)
    }
  }
}

private let fixtureFolder = ProcessInfo.processInfo.environment["WORKERPOOL_MAKE_FIXTURES"]

/// The document of a mapping model that copies all entities of a model but for the quays of vessels.
private struct MappingText {
  private(set) var text = """
    <?xml version="1.0" standalone="yes"?>
    <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

    <database>
        <databaseInfo>
            <version>134481920</version>
            <UUID>7B0C5D2E-3C0B-4D0A-9C52-6C1B4F6A1D11</UUID>
            <nextObjectID>300</nextObjectID>
            <metadata>
                <plist version="1.0">
                    <dict>
                        <key>NSStoreModelVersionIdentifiers</key>
                        <array></array>
                    </dict>
                </plist>
            </metadata>
        </databaseInfo>

    """
  private var number = 101
  private let model = "z101"

  init(_ model: NSManagedObjectModel) {
    var mappings: [String] = []
    let entities = model.entities.filter { !$0.isAbstract }.sorted { ($0.name ?? "") < ($1.name ?? "") }
    for entity in entities { mappings.append(add(entity, at: mappings.count + 1)) }
    add(
      "XDDEVMAPPINGMODEL", id: self.model, attributes: [],
      relationships: [("entitymappings", "0/0", "XDDEVENTITYMAPPING", mappings)])
    text += "</database>\n"
  }

  private mutating func add(_ entity: NSEntityDescription, at place: Int) -> String {
    let id = next()
    var members: [String: [String]] = [:]
    for property in entity.properties.sorted(by: { $0.name < $1.name })
    where !property.isTransient && !(property is NSFetchedPropertyDescription) {
      let kind = property is NSRelationshipDescription ? "RELATIONSHIP" : "ATTRIBUTE"
      var values = [("name", "string", property.name)]
      if property.name == "quay", entity.name != "Berth" {
        values += [("sourcemappingname", "string", "QuayToQuay"), ("sourcekeypath", "string", "$source.berth.quay")]
      } else if property.name == "vessels", entity.name == "Quay" {
        continue
      } else if kind == "RELATIONSHIP" {
        values.append(("autogenerateexpression", "bool", "1"))
      }
      let member = next()
      add(
        "XDDEV\(kind)MAPPING", id: member, attributes: values,
        relationships: [("entitymapping", "1/1", "XDDEVENTITYMAPPING", [id])])
      members[kind, default: []].append(member)
    }
    let name = entity.name ?? ""
    add(
      "XDDEVENTITYMAPPING", id: id,
      attributes: [
        ("sourcename", "string", name), ("mappingtypename", "string", "Undefined"),
        ("mappingnumber", "int16", "\(place)"), ("destinationname", "string", name),
        ("autogenerateexpression", "bool", "1"),
      ],
      relationships: [
        ("mappingmodel", "1/1", "XDDEVMAPPINGMODEL", [model]),
        ("attributemappings", "0/0", "XDDEVATTRIBUTEMAPPING", members["ATTRIBUTE"] ?? []),
        ("relationshipmappings", "0/0", "XDDEVRELATIONSHIPMAPPING", members["RELATIONSHIP"] ?? []),
      ])
    return id
  }

  private mutating func next() -> String {
    number += 1
    return "z\(number)"
  }

  private mutating func add(
    _ kind: String, id: String, attributes: [(String, String, String)],
    relationships: [(String, String, String, [String])]
  ) {
    text += "    <object type=\"\(kind)\" id=\"\(id)\">\n"
    for (name, type, value) in attributes {
      text += "        <attribute name=\"\(name)\" type=\"\(type)\">\(value)</attribute>\n"
    }
    for (name, type, destination, members) in relationships {
      let references = members.isEmpty ? "" : " idrefs=\"\(members.joined(separator: " "))\""
      text += "        <relationship name=\"\(name)\" type=\"\(type)\" destination=\"\(destination)\"\(references)>"
      text += "</relationship>\n"
    }
    text += "    </object>\n"
  }
}
