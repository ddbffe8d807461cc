import Foundation
import PackagePlugin

/// Compiles the data models among a target's files. Each becomes a resource `NAME.momd` and a Swift file with its
/// classes; if the target's `ModelCompiler.json` says so, it becomes a Swift file with its classes and the model
/// instead. It also generates the bodies of the declarations in the target's sources that are marked `@NSManaged`.
///
/// What it does with a file is `ModelCompiler`'s business; here are only the commands with their inputs and outputs.
@main
struct ModelCompilerPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let tool = try context.tool(named: "ModelCompiler").url
    let configuration = try Configuration(of: target)
    let sources = models(in: target)
    if let stranger = configuration.embeddedModels.subtracting(sources.map(\.modelName)).sorted().first {
      throw ConfigurationError("\(configuration.file.path): there is no model \(stranger) in the target \(target.name)")
    }
    let models = try sources.map { model in
      let name = model.modelName
      let swift = context.pluginWorkDirectoryURL.appending(path: "\(name)+CoreDataModel.swift")
      let momd = context.pluginWorkDirectoryURL.appending(path: "\(name).momd")
      let isEmbedded = configuration.embeddedModels.contains(name)
      let command = Command.buildCommand(
        displayName: "Compiling model \(model.lastPathComponent)", executable: tool,
        arguments: ["model", model.path, "--module", target.moduleName, "--swift", swift.path]
          + (isEmbedded ? [] : ["--momd", momd.path]),
        inputFiles: try [model] + files(in: model) + configuration.inputs,
        outputFiles: isEmbedded ? [swift] : [swift, momd])
      return (command: command, swift: swift)
    }
    let code = target.sourceFiles(withSuffix: "swift").map(\.url).sorted { $0.path < $1.path }
    guard !code.isEmpty else { return models.map(\.command) }
    let accessors = context.pluginWorkDirectoryURL.appending(path: "\(target.moduleName)+NSManaged.swift")
    // The classes of the models are among the types that declarations have.
    let inputs = code + models.map(\.swift)
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
    // Foundation lists nothing for a symbolic link.
    let folder = model.resolvingSymlinksInPath()
    return try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted().map { folder.appending(path: $0) }
  }
}

extension URL {
  fileprivate var modelName: String { deletingPathExtension().lastPathComponent }
}

/// What a target's `ModelCompiler.json` says; without the file nothing.
///
///     {"embeddedModels": ["Library"]}
private struct Configuration {
  let file: URL
  /// Models that are part of the generated code instead of a resource.
  private(set) var embeddedModels: Set<String> = []
  /// The file, where there is one.
  private(set) var inputs: [URL] = []

  private struct Contents: Decodable {
    var embeddedModels: Set<String>?
  }

  init(of target: any SourceModuleTarget) throws {
    file = target.directoryURL.appending(path: "ModelCompiler.json")
    guard let data = FileManager.default.contents(atPath: file.path) else { return }
    inputs = [file]
    do {
      embeddedModels = try JSONDecoder().decode(Contents.self, from: data).embeddedModels ?? []
    } catch {
      throw ConfigurationError(
        "\(file.path): expected an object such as {\"embeddedModels\": [\"Library\"]}, with the names of models")
    }
  }
}

private struct ConfigurationError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
