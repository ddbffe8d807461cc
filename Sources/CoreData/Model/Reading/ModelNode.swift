internal import FoundationXML

/// One element of a model document, with what is inside it.
final class ModelNode {
  let name: String
  let attributes: [String: String]
  private(set) var children: [ModelNode] = []

  init(name: String, attributes: [String: String] = [:], children: [ModelNode] = []) {
    self.name = name
    self.attributes = attributes
    self.children = children
  }

  func append(_ child: ModelNode) {
    children.append(child)
  }

  func children(named name: String) -> [ModelNode] {
    children.filter { $0.name == name }
  }

  /// Whether an attribute says "YES", as Xcode writes it.
  func flag(_ attribute: String) -> Bool {
    attributes[attribute] == "YES"
  }

  /// The document in the given XML text.
  static func parse(_ data: Data) throws(ModelNodeError) -> ModelNode {
    let collector = Collector()
    let parser = XMLParser(data: data)
    parser.delegate = collector
    // A document that ends in the middle of a tag is no error to this parser.
    guard parser.parse(), let root = collector.root, collector.isComplete else {
      throw ModelNodeError(line: max(parser.lineNumber, 1))
    }
    return root
  }
}

/// A document that is no well-formed XML.
struct ModelNodeError: Error {
  let line: Int
}

/// Builds the tree while the parser walks through the document.
private final class Collector: NSObject, XMLParserDelegate {
  var root: ModelNode?
  var isComplete: Bool { path.isEmpty }
  private var path: [ModelNode] = []

  func parser(
    _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    let node = ModelNode(name: elementName, attributes: attributes)
    if let parent = path.last { parent.append(node) } else { root = node }
    path.append(node)
  }

  func parser(_ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName: String?) {
    path.removeLast()
  }
}
