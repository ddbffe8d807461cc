import Foundation
import TestFiles
import Testing

@testable import CoreData

/// The kernel takes all locks of a process from a file when it closes any of its descriptors of that file.
@Suite struct OwnLocksTests {
  @Test func aReadOnlyOpeningKeepsTheLocksOfThisProcess() throws {
    // Given a store with a rollback journal, whose lock is on the file itself
    let store = try TemporaryStore(options: [NSSQLitePragmasOption: ["journal_mode": "DELETE"]])
    try store.save { $0.make("Tag", ["label": "a"]) }
    let writer = try SQLiteConnection(path: store.url.path, access: .readWrite)
    defer { writer.close() }
    try writer.execute("BEGIN IMMEDIATE")
    #expect(try writesFromAnotherProcess(store.url) == false)
    // When this process opens it for reading and closes it again
    let reader = NSPersistentStoreCoordinator(managedObjectModel: store.model)
    let opened = try reader.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: store.url, options: [NSReadOnlyPersistentStoreOption: true]
    )
    try reader.remove(opened)
    // Then nobody else can write
    #expect(try writesFromAnotherProcess(store.url) == false)
    try writer.execute("ROLLBACK")
    #expect(try writesFromAnotherProcess(store.url))
  }

  private func writesFromAnotherProcess(_ url: URL) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["sqlite3", url.path, "BEGIN IMMEDIATE; ROLLBACK"]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit(within: TestLimit.seconds)
    return process.terminationStatus == 0
  }
}
