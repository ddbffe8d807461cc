import TestFiles
import Testing

@testable import CoreData

/// Expressions of mapping models as Xcode's editor shows them, and the files that hold them.
@Suite("Expressions of mapping models") struct MappingExpressionTests {
  /// Notes with a picture, of which the new model makes attachments.
  private func models() -> (old: NSManagedObjectModel, new: NSManagedObjectModel) {
    let old = Build.model(Build.entity("Note", Build.attribute("title"), Build.attribute("picture")))
    let note = Build.entity("Note", Build.attribute("title"))
    let attachment = Build.entity("Attachment", Build.attribute("picture"))
    Build.relate(note, "attachments", toMany: true, to: attachment, inverse: "note", inverseToMany: false)
    return (old, Build.model(note, attachment))
  }

  private func property(_ name: String, _ format: String) -> NSPropertyMapping {
    let property = NSPropertyMapping()
    property.name = name
    property.valueExpression = NSExpression(format: format)
    return property
  }

  private func mapping(_ name: String, _ source: String, _ destination: String) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = name
    mapping.mappingType = .transformEntityMappingType
    (mapping.sourceEntityName, mapping.destinationEntityName) = (source, destination)
    return mapping
  }

  private func migrate(_ mapping: NSMappingModel, _ check: (NSManagedObjectContext) throws -> Void) throws {
    let (old, new) = models()
    let store = try TemporaryStore(old)
    try store.save { context in
      context.make("Note", ["title": "a", "picture": "a.png"])
      context.make("Note", ["title": "b", "picture": "b.png"])
      context.make("Note", ["title": "c"])
    }
    let url = store.folder.appendingPathComponent("new.sqlite")
    try NSMigrationManager(sourceModel: old, destinationModel: new)
      .migrateStore(from: store.url, type: .sqlite, mapping: mapping, to: url, type: .sqlite)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: new)
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = coordinator.context()
    try context.performAndWait { try check(context) }
  }

  @Test(
    "A relationship to what became of the source object itself is kept",
    arguments: [
      #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "NoteToNote", $source)"#,
      #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "NoteToNote", {$source})"#,
      #"""
      TERNARY($source.title == "none", nil,
        FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "NoteToNote", $source))
      """#,
      #"FUNCTION($entityPolicy, "noteOf:among:", $source, "NoteToNote")"#,
    ])
  func relationships(format: String) throws {
    let notes = mapping("NoteToNote", "Note", "Note")
    notes.attributeMappings = [property("title", "$source.title")]
    let attachments = mapping("NoteToAttachment", "Note", "Attachment")
    attachments.entityMigrationPolicyClassName = NSStringFromClass(NotePolicy.self)
    attachments.sourceExpression = NSExpression(
      format: #"""
        FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Note", "picture != nil"),
          $manager.sourceContext, NO)
        """#)
    attachments.attributeMappings = [
      property("picture", #"FUNCTION(FUNCTION($entityPolicy, "pathOf:", $source), "stringByAppendingString:", "!")"#)
    ]
    attachments.relationshipMappings = [property("note", format)]
    let model = NSMappingModel()
    model.entityMappings = [attachments, notes]
    try migrate(model) { context in
      let attachments = try context.all("Attachment", sort: "picture")
      #expect(attachments.map { $0.text("picture") } == ["/a.png!", "/b.png!"])
      #expect(attachments.map { ($0.value(forKey: "note") as? NSManagedObject)?.text("title") } == ["a", "b"])
    }
  }

  @Test("What a mapping's expression prints is read again")
  func printing() {
    for format in [
      #"FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "cars", $source.cars)"#,
      #"FUNCTION($entityPolicy, "convert:in:", $source.price, $manager.userInfo)"#,
      #"FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "A", "b == 1"), $manager.c, NO)"#,
    ] {
      let expression = NSExpression(format: format)
      #expect(NSExpression(format: expression.description) == expression)
    }
    #expect(throws: PredicateSyntaxError.self) { try NSExpression.parse(format: #"FUNCTION(name, "noSuch:", 1)"#) }
  }

  @Test("A file of Xcode's that names $source alone gives each attachment its note")
  func sourceAlone() throws {
    let folder = temporaryURL("mapping").appendingPathComponent("Notes.xcmappingmodel")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder.deletingLastPathComponent()) }
    try Data(
      """
      <?xml version="1.0"?>
      <database>
        <object type="XDDEVENTITYMAPPING" id="z1">
          <attribute name="sourcename" type="string">Note</attribute>
          <attribute name="destinationname" type="string">Attachment</attribute>
          <attribute name="sourcefilterpredicatestring" type="string">picture != nil</attribute>
          <attribute name="mappingnumber" type="int16">1</attribute>
          <relationship name="attributemappings" destination="XDDEVATTRIBUTEMAPPING" idrefs="z3"></relationship>
          <relationship name="relationshipmappings" destination="XDDEVRELATIONSHIPMAPPING" idrefs="z4"></relationship>
        </object>
        <object type="XDDEVENTITYMAPPING" id="z2">
          <attribute name="sourcename" type="string">Note</attribute>
          <attribute name="destinationname" type="string">Note</attribute>
          <attribute name="mappingnumber" type="int16">2</attribute>
          <relationship name="attributemappings" destination="XDDEVATTRIBUTEMAPPING" idrefs="z5"></relationship>
        </object>
        <object type="XDDEVATTRIBUTEMAPPING" id="z3"><attribute name="name" type="string">picture</attribute></object>
        <object type="XDDEVRELATIONSHIPMAPPING" id="z4">
          <attribute name="sourcemappingname" type="string">NoteToNote</attribute>
          <attribute name="sourcekeypath" type="string">$source</attribute>
          <attribute name="name" type="string">note</attribute>
        </object>
        <object type="XDDEVATTRIBUTEMAPPING" id="z5"><attribute name="name" type="string">title</attribute></object>
      </database>
      """.utf8
    ).write(to: folder.appendingPathComponent("xcmapping.xml"))
    try migrate(#require(NSMappingModel(contentsOf: folder))) { context in
      let attachments = try context.all("Attachment", sort: "picture")
      #expect(attachments.map { $0.text("picture") } == ["a.png", "b.png"])
      #expect(attachments.map { ($0.value(forKey: "note") as? NSManagedObject)?.text("title") } == ["a", "b"])
      try #expect(context.all("Note").count == 3)
    }
  }
}

/// Answers the calls of a mapping's expressions.
final class NotePolicy: NSEntityMigrationPolicy {
  private var manager: NSMigrationManager?

  override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws { self.manager = manager }

  override func value(forSelector selector: String, arguments: [Any?]) throws -> Any? {
    let source = try #require(arguments.first as? NSManagedObject)
    switch selector {
    case "pathOf:": return source.text("picture").map { "/" + $0 }
    case "noteOf:among:":
      return try manager?.destinationInstances(
        forEntityMappingName: #require(arguments.last as? String), sourceInstances: [source]
      ).first
    default: return try super.value(forSelector: selector, arguments: arguments)
    }
  }
}
