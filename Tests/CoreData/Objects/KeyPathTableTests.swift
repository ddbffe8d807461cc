import CoreData
import Testing

/// Names of key paths come from tables that nobody registers.
@Suite struct KeyPathTableTests {
  @Test func aPropertysPathHasItsName() {
    #expect((\Tabled.name)._kvcKeyPathString == "name")
    #expect((\Tabled.age)._kvcKeyPathString == "age")
    #expect((\Tabled.boss)._kvcKeyPathString == "boss")
    #expect(NSExpression(forKeyPath: \Tabled.age).keyPath == "age")
    #expect(NSSortDescriptor(keyPath: \Tabled.name, ascending: true).key == "name")
  }

  @Test func subclassesHaveTheNamesTheyInheritAndTheirOwn() {
    #expect((\TabledBelow.name)._kvcKeyPathString == "name")
    #expect((\TabledBelow.salary)._kvcKeyPathString == "salary")
    #expect((\TabledBelow.boss)._kvcKeyPathString == "boss")
    #expect((\UntabledBelow.name)._kvcKeyPathString == "name")
  }

  @Test func pathsThroughRelationshipsAreChains() {
    #expect((\Tabled.boss?.name)._kvcKeyPathString == "boss.name")
    #expect((\Tabled.boss?.boss)._kvcKeyPathString == "boss.boss")
    #expect((\Tabled.boss?.boss?.deputy.salary)._kvcKeyPathString == "boss.boss.deputy.salary")
    #expect((\Tabled.boss!.name)._kvcKeyPathString == "boss.name")
    #expect((\Tabled.boss!.deputy.age)._kvcKeyPathString == "boss.deputy.age")
    #expect((\Tabled.deputy.name)._kvcKeyPathString == "deputy.name")
    #expect((\Tabled.deputy.deputy.deputy.age)._kvcKeyPathString == "deputy.deputy.deputy.age")
    #expect((\TabledBelow.boss?.age)._kvcKeyPathString == "boss.age")
    #expect((\TabledBelow.deputy.salary)._kvcKeyPathString == "deputy.salary")
  }

  @Test func otherPathsHaveNone() {
    #expect((\Tabled.unmodelled)._kvcKeyPathString == nil)
    #expect((\Tabled.name.count)._kvcKeyPathString == nil)
    #expect((\Tabled.boss?.unmodelled)._kvcKeyPathString == nil)
    #expect((\String.count)._kvcKeyPathString == nil)
  }
}

class Tabled: NSManagedObject {
  var name: String { value(forKey: "name") as? String ?? "" }
  var boss: Tabled? {
    get { value(forKey: "boss") as? Tabled }
    set { setValue(newValue, forKey: "boss") }
  }
  var deputy: TabledBelow { value(forKey: "deputy") as! TabledBelow }
  var unmodelled: String { name }
}

extension Tabled {
  var age: Int64 {
    get { (value(forKey: "age") as? NSNumber)?.int64Value ?? 0 }
    set { setValue(newValue, forKey: "age") }
  }
}

final class TabledBelow: Tabled {
  var salary: Double { (value(forKey: "salary") as? NSNumber)?.doubleValue ?? 0 }
}

final class UntabledBelow: Tabled {}

// The form of generated code.
@usableFromInline enum TabledKeyPaths: ManagedKeyPathTable {
  @usableFromInline static var objectClass: NSManagedObject.Type { Tabled.self }
  @usableFromInline static var keyPaths: [AnyKeyPath: String] {
    [\Tabled.name: "name", \Tabled.boss: "boss", \Tabled.deputy: "deputy", \Tabled.age: "age"]
  }
}

@usableFromInline enum TabledBelowKeyPaths: ManagedKeyPathTable {
  @usableFromInline static var objectClass: NSManagedObject.Type { TabledBelow.self }
  @usableFromInline static var keyPaths: [AnyKeyPath: String] { [\TabledBelow.salary: "salary"] }
}
