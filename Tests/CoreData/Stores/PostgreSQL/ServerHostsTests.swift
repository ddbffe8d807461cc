@testable import CoreDataPostgreSQL
import TestFiles
import Testing

@testable import CoreData

/// URLs with several hosts: the first that is up and takes writes has the store.
@Suite(.enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct ServerHostsTests {
  @Test(
    arguments: [
      ("postgresql://h/db", "postgresql://h/db"),
      ("postgres://a,b/db?target_session_attrs=read-write", "postgres:///db?host=a,b&target_session_attrs=read-write"),
      ("postgresql://me@a:1,b/db", "postgresql://me@/db?host=a,b&port=1,"),
      ("postgresql://me:p%40w@[::1]:5,[fe80::1],c:7", "postgresql://me:p%40w@/?host=::1,fe80::1,c&port=5,,7"),
      ("postgresql://%2Ftmp%2Fa%2Cb,%2Fc:1/d%20b?x=y", "postgresql:///d%20b?host=%2Ftmp%2Fa%2Cb,%2Fc&port=,1&x=y"),
      ("postgresql://[::1,b/db", nil), ("postgresql://a:x,b/db", nil), ("http://a/db", nil), ("a,b", nil),
    ] as [(String, String?)])
  func severalHostsBecomeParameters(text: String, expected: String?) {
    #expect(URL(postgreSQL: text)?.absoluteString == expected)
  }

  private func open(_ url: URL) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: LibraryModel.make())
    try coordinator.addPersistentStore(ofType: NSPostgreSQLStoreType, configurationName: nil, at: url)
    return coordinator
  }

  private func labels(_ coordinator: NSPersistentStoreCoordinator, adding label: String) throws -> [String] {
    let context = coordinator.context()
    return try context.performAndWait {
      context.make("Tag", ["label": label])
      try context.save()
      return try context.all("Tag", sort: "label").compactMap { $0.value(forKey: "label") as? String }
    }
  }

  @Test func theStoreOpensAtTheSecondServerWhenTheFirstIsDown() throws {
    let pair = PostgreSQLPair()
    defer { pair.stop() }
    let directories = [pair.standby, pair.primary].map { $0.directory.replacingOccurrences(of: "/", with: "%2F") }
    let end = "postgres?target_session_attrs=read-write&schema=hosts"
    // With ports and without, in the authority and as parameters.
    let url = try #require(URL(postgreSQL: "postgresql://tests@\(directories[0]):5432,\(directories[1])/\(end)"))
    let plain = try #require(URL(string: "postgresql://tests@\(directories[0]),\(directories[1])/\(end)"))
    // The standby is up and takes no writes; then the primary is down.
    try #expect(labels(open(url), adding: "a") == ["a"])
    try #expect(labels(open(plain), adding: "b") == ["a", "b"])
    try pair.failOver()
    let turned = try #require(
      URL(postgreSQL: "postgresql://tests@\(directories[1]):5432,\(directories[0]):5432/\(end)"))
    try #expect(labels(open(turned), adding: "c") == ["a", "b", "c"])
    try #expect(labels(open(url), adding: "d") == ["a", "b", "c", "d"])
  }
}
