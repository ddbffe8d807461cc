import Foundation
import PackagePlugin

/// Compiles the data models among a target's files: each becomes a resource `NAME.momd` and a Swift file with its classes.
/// And supplies the bodies of the declarations in the target's sources that are marked `@NSManaged`.
///
/// What it does with a file is `ModelCompiler`'s business; here are only the commands with their inputs and outputs.
@main
struct ModelCompilerPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let tool = try context.tool(named: "ModelCompiler").url
    let models = try models(in: target).map { model in
      let name = model.deletingPathExtension().lastPathComponent
      let swift = context.pluginWorkDirectoryURL.appending(path: "\(name)+CoreDataModel.swift")
      let momd = context.pluginWorkDirectoryURL.appending(path: "\(name).momd")
      let command = Command.buildCommand(
        displayName: "Compiling model \(model.lastPathComponent)", executable: tool,
        arguments: ["model", model.path, "--module", target.moduleName, "--swift", swift.path, "--momd", momd.path],
        inputFiles: try [model] + files(in: model), outputFiles: [swift, momd])
      return (command: command, swift: swift)
    }
    let sources = target.sourceFiles(withSuffix: "swift").map(\.url).sorted { $0.path < $1.path }
    guard !sources.isEmpty else { return models.map(\.command) }
    let accessors = context.pluginWorkDirectoryURL.appending(path: "\(target.moduleName)+NSManaged.swift")
    // The classes of the models are among the types that declarations have.
    let inputs = sources + models.map(\.swift)
    let scan = Command.buildCommand(
      displayName: "Supplying @NSManaged accessors of \(target.name)", executable: tool,
      arguments: ["accessors", "--module", target.moduleName, "--swift", accessors.path] + inputs.map(\.path),
      inputFiles: inputs, outputFiles: [accessors])
    return models.map(\.command) + [scan]
  }

  /// The models among the target's files.
  private func models(in target: any SourceModuleTarget) -> [URL] {
    let bundles = ["xcdatamodeld", "xcdatamodel"]
    var models: Set<URL> = []
    for file in target.sourceFiles {
      let bundle = sequence(first: file.url) { $0.pathComponents.count > 1 ? $0.deletingLastPathComponent() : nil }
        .filter { bundles.contains($0.pathExtension) }.last
      if let bundle { models.insert(bundle.standardizedFileURL) }
    }
    return models.sorted { $0.path < $1.path }
  }

  /// All files inside a model, so that a change of any of them compiles it again.
  private func files(in model: URL) throws -> [URL] {
    try FileManager.default.subpathsOfDirectory(atPath: model.path).sorted().map { model.appending(path: $0) }
  }
}
