internal import FoundationXML

/// One XML element of a model document, with the elements inside it.
package final class ModelNode {
  package let name: String
  package let attributes: [String: String]
  package private(set) var children: [ModelNode] = []
  /// The text directly in the element.
  package fileprivate(set) var text = ""
  /// The line at which the element's opening tag ends, from 1; nil if the document is not text.
  package let line: Int?

  package init(name: String, attributes: [String: String] = [:], line: Int? = nil) {
    self.name = name
    self.attributes = attributes
    self.line = line
  }

  package func append(_ child: ModelNode) {
    children.append(child)
  }

  package func children(named name: String) -> [ModelNode] {
    children.filter { $0.name == name }
  }

  /// Whether an attribute is "YES", as Xcode writes true.
  package func flag(_ attribute: String) -> Bool {
    attributes[attribute] == "YES"
  }

  /// What user info keys begin with that speak to the class generator, not to the program.
  package static let generatorPrefix = "swift."

  /// The entries of the element's user info, in their order.
  package var userInfo: [UserInfoEntry] {
    children(named: "userInfo").flatMap { $0.children(named: "entry") }.map(UserInfoEntry.init)
  }

  /// Parses a document. Throws for text that is not well-formed XML.
  package static func parse(_ data: Data) throws(ModelNodeError) -> ModelNode {
    guard let data = XMLInstructions.harmless(data) else { throw ModelNodeError(line: 1) }
    let collector = Collector()
    let parser = XMLParser(data: data)
    parser.delegate = collector
    // This parser reports no error for a document that ends inside a tag.
    guard parser.parse(), let root = collector.root, collector.isComplete else {
      throw ModelNodeError(line: max(parser.lineNumber, 1))
    }
    return root
  }
}

/// An entry in the user info of an entity or a property.
package struct UserInfoEntry {
  package let node: ModelNode

  package var key: String { node.attributes["key"] ?? "" }
  package var value: String { node.attributes["value"] ?? "" }

  /// The key without its prefix, where the entry speaks to the class generator; nil for others.
  package var generatorNote: String? {
    key.hasPrefix(ModelNode.generatorPrefix) ? String(key.dropFirst(ModelNode.generatorPrefix.count)) : nil
  }
}

/// The fault of a document that is not well-formed XML.
package struct ModelNodeError: Error {
  package let line: Int
}

/// Builds the tree from the parser's events.
private final class Collector: NSObject, XMLParserDelegate {
  var root: ModelNode?
  var isComplete: Bool { path.isEmpty }
  private var path: [ModelNode] = []

  func parser(
    _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    let node = ModelNode(name: elementName, attributes: attributes, line: max(parser.lineNumber, 1))
    if let parent = path.last { parent.append(node) } else { root = node }
    path.append(node)
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) {
    path.last?.text += string
  }

  func parser(_ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName: String?) {
    path.removeLast()
  }
}
