internal import FoundationXML

/// One element of a model document, with what is inside it.
package final class ModelNode {
  package let name: String
  package let attributes: [String: String]
  package private(set) var children: [ModelNode] = []
  /// Where the element ends its opening tag, from 1; nil where the document is not text.
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

  /// Whether an attribute says "YES", as Xcode writes it.
  package func flag(_ attribute: String) -> Bool {
    attributes[attribute] == "YES"
  }

  /// The document in the given XML text.
  package static func parse(_ data: Data) throws(ModelNodeError) -> ModelNode {
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
package struct ModelNodeError: Error {
  package let line: Int
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
    let node = ModelNode(name: elementName, attributes: attributes, line: max(parser.lineNumber, 1))
    if let parent = path.last { parent.append(node) } else { root = node }
    path.append(node)
  }

  func parser(_ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName: String?) {
    path.removeLast()
  }
}
