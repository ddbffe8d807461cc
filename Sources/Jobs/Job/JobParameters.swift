import CoreData

/// Parameters as values of a type of your own.
extension JobRequest {
  /// A request whose parameters are an encoded value. All other fields are at their defaults.
  ///
  /// ```swift
  /// struct Import: Codable { var file: String; var since: Date? }
  /// let request = try JobRequest(kind: "import", parameters: Import(file: "/data/a.csv"))
  /// ```
  ///
  /// Dates become texts as in RFC 3339, data base64, as in job files. A string is not encoded: it is the text of the
  /// parameters, no matter which initialiser the compiler chooses for it.
  ///
  /// - Throws: ``JobParametersError`` when the value does not become a JSON object, and what its `encode(to:)` throws.
  @_disfavoredOverload
  public init(kind: String, objects: [String] = [], parameters: some Encodable) throws {
    if let text = parameters as? String {
      self.init(kind: kind, objects: objects, parameters: text as String?)
      return
    }
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(Timestamp.text(date))
    }
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(parameters), as: UTF8.self)
    guard text.first == "{" else { throw JobParametersError.noObject(type: "\(type(of: parameters))") }
    self.init(kind: kind, objects: objects, parameters: text as String?)
  }
}

extension PoolJob {
  /// The parameters, decoded into a type of your own. Without parameters it is decoded from an empty object.
  ///
  /// ```swift
  /// struct Import: Codable { var file: String; var since: Date? }
  /// for job in try context.fetch(Job.fetchRequest()) where job.kind == "import" {
  ///   print(try job.parameters(as: Import.self).file)
  /// }
  /// ```
  ///
  /// A worker reads what `JobRequest(kind:objects:parameters:)` wrote with the same type. Give new members of a
  /// type a default or make them optional: waiting jobs were written by the earlier program.
  ///
  /// - Throws: ``JobParametersError`` that names the member that is missing or wrong. A worker that lets it
  ///   pass ends the job at once, since another attempt finds the same parameters.
  public func parameters<Parameters: Decodable>(as type: Parameters.Type) throws -> Parameters {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let container = try decoder.singleValueContainer()
      guard let date = Timestamp.date(try container.decode(String.self)) else {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "it must be a time such as 2026-01-01T00:00:00Z")
      }
      return date
    }
    do {
      return try decoder.decode(type, from: Data((parametersText ?? "{}").utf8))
    } catch let error as DecodingError {
      throw JobParametersError(error)
    }
  }
}

/// Why a value and a job's parameters do not fit together. Holds no values.
public enum JobParametersError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A value of this type is encoded, but not as a JSON object.
  case noObject(type: String)
  /// The parameters lack this member.
  case missing(String)
  /// This member has another form; with the reason.
  case wrong(String, reason: String)

  init(_ error: DecodingError) {
    func name(_ context: DecodingError.Context, _ last: (any CodingKey)? = nil) -> String {
      let path = (context.codingPath + [last].compactMap(\.self)).map { $0.intValue.map(String.init) ?? $0.stringValue }
      return path.isEmpty ? "the parameters" : path.joined(separator: ".")
    }
    self =
      switch error {
      case .keyNotFound(let key, let context): .missing(name(context, key))
      case .valueNotFound(_, let context): .missing(name(context))
      case .typeMismatch(let type, let context): .wrong(name(context), reason: "the type \(type) is expected")
      case .dataCorrupted(let context): .wrong(name(context), reason: context.debugDescription)
      @unknown default: .wrong("the parameters", reason: "they cannot be decoded")
      }
  }

  /// What is wrong, in one sentence.
  public var description: String {
    switch self {
    case .noObject(let type): "parameters must be a JSON object, and \(type) is encoded as something else"
    case .missing(let name): "the parameters lack \"\(name)\""
    case .wrong(let name, let reason): "\"\(name)\" in the parameters is wrong: \(reason)"
    }
  }
}
