import Foundation
import TestFiles
import Testing

/// A program that has ended, with what it printed.
struct Finished {
  let code: Int32
  let output: String
  let errors: String

  var lines: [String] { output.split(separator: "\n").map(String.init) }
}

/// Runs a program to its end.
@discardableResult
func run(
  _ path: String, _ arguments: [String], in directory: String? = nil, input: FileHandle = .nullDevice
) throws -> Finished {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: path)
  process.arguments = arguments
  if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
  process.standardInput = input
  let output = Pipe()
  // Errors go to a file: two pipes that are read one after the other could block each other.
  let errorFile = temporaryURL("errors")
  try Data().write(to: errorFile)
  defer { try? FileManager.default.removeItem(at: errorFile) }
  process.standardOutput = output
  process.standardError = try FileHandle(forWritingTo: errorFile)
  try process.run()
  let limit = process.killLater()
  let data = output.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  limit.cancel()
  return Finished(
    code: process.terminationStatus, output: String(decoding: data, as: UTF8.self),
    errors: (try? String(contentsOf: errorFile, encoding: .utf8)) ?? "")
}

/// Runs the `workerpool` command to its end.
@discardableResult
func workerpool(_ arguments: String..., in directory: String? = nil) throws -> Finished {
  try run(Built.path("workerpool"), arguments, in: directory)
}

/// What the `sqlite3` shell answers to a query, without Core Data between.
func sqlite(_ store: String, _ query: String) throws -> String {
  let finished = try run("/usr/bin/env", ["sqlite3", "-cmd", ".timeout 60000", store, query])
  try #require(finished.code == 0, "\(finished.errors)")
  return finished.output.trimmingCharacters(in: .newlines)
}
