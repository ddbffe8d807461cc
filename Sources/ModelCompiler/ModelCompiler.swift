import ClassGenerator
import ModelFiles

/// The tool that the build plugin runs.
///
///     ModelCompiler model App.xcdatamodeld --module App --swift App+CoreDataModel.swift --momd App.momd
///     ModelCompiler accessors --module App --swift App+NSManaged.swift Person.swift Team.swift
///
/// Errors go to standard error as `path:line: error: text`, and the exit code is 1.
@main
enum ModelCompiler {
  static func main() {
    do {
      try run(Array(CommandLine.arguments.dropFirst()))
    } catch let error as ManagedObjectModelError {
      fail(error.diagnostic)
    } catch let error as AccessorErrors {
      fail(error.text)
    } catch {
      fail("error: \(error)")
    }
  }

  private static func run(_ arguments: [String]) throws {
    switch arguments.first {
    case "model": try ModelCompilation(arguments.dropFirst()).run()
    case "accessors": try AccessorGeneration(arguments.dropFirst()).run()
    default: throw CompilerUsage("\(ModelCompilation.usage)\n       \(AccessorGeneration.usage)")
    }
  }

  private static func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
    exit(1)
  }
}
