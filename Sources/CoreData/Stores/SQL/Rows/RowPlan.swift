/// The plan for reading rows of an entity and its subentities: the columns of a SELECT, and for each entity the steps
/// that fill a snapshot.
///
/// The library's plans, and the SELECT that each begins:
///
/// ```text
/// plan              columns                                                     key columns
/// ----------------  ----------------------------------------------------------  -----------
/// Author            Z_PK, Z_OPT, ZNAME                                               2
/// Book              Z_PK, Z_OPT, ZAUTHOR, ZISREAD, ZPAGES, ZTITLE                    2
/// Book with Novel   Z_PK, Z_OPT, Z_ENT, ZAUTHOR, ZISREAD, ZPAGES, ZTITLE, ZGENRE     3
/// Book, "title"     Z_PK, Z_OPT, ZTITLE                                              2
/// ```
///
/// Where rows may be of several entities, the third column says which, and with it which decoder reads the row: a
/// `Book` has no step for ZGENRE. A column that two entities share stands once.
///
/// Ordinary fetches find their plan ready; only one that names some properties (`propertiesToFetch`) makes its own.
@usableFromInline
package final class RowPlan: Sendable {
  /// The first two are the key and the version. The third is the entity's number, if it varies.
  private let columns: [String]
  private let keyColumnCount: Int
  /// The decoder of all rows, if they are of one entity.
  @usableFromInline package let onlyDecoder: RowDecoder?
  /// By entity number.
  @usableFromInline let decoders: [RowDecoder?]

  /// A column's text in a SELECT: its name, and in a database with types the type as which it is decoded.
  ///
  /// - Parameter attribute: nil for keys, versions and the numbers of entities.
  package typealias ColumnForm = @Sendable (_ name: String, _ attribute: NSAttributeDescription?) -> String

  /// - Parameter properties: the names of the properties to read; nil for all.
  init(
    _ mapping: TableMapping, schema: StoreSchema, storedEntities: StoredEntities, includesSubentities: Bool,
    properties: Set<String>? = nil, form: ColumnForm
  ) {
    let numbers = includesSubentities ? mapping.numbersIncludingSubentities : [mapping.number]
    let names = mapping.names
    var columns = ([names.key, names.version] + (numbers.count > 1 ? [names.entity] : [])).map { form($0, nil) }
    keyColumnCount = columns.count
    var indexes: [String: Int32] = [:]
    @inline(never)
    func index(_ column: String, _ attribute: NSAttributeDescription? = nil) -> Int32 {
      if let index = indexes[column] { return index }
      columns.append(form(column, attribute))
      let index = Int32(columns.count - 1)
      indexes[column] = index
      return index
    }

    var decoders: [RowDecoder?] = Array(repeating: nil, count: storedEntities.byNumber.count)
    for number in numbers {
      guard let mapping = schema.entitiesByNumber[number], let storedEntity = storedEntities[number] else {
        continue
      }
      var steps: [RowStep] = []
      var composites: [RowDecoder.Composite] = []
      for property in mapping.storedProperties(storedEntity.layout)
      where properties?.contains(property.description.name) ?? true {
        var step = RowStep(property)
        switch property.columns {
        case .attribute(let attribute): step.column = index(attribute.column, property.description.attribute)
        case .composite(let composite):
          composites.append(
            RowDecoder.Composite(
              slot: property.slot, leaves: composite.leaves.map { ($0, index($0.column.column, $0.attribute)) }))
          continue
        case .toOne(let toOne):
          step.column = index(toOne.column)
          step.entityColumn = toOne.entityColumn.map { index($0) } ?? -1
          step.destination = Int64(schema.entitiesByName[toOne.destinationEntityName]?.number ?? 0)
        }
        steps.append(step)
      }
      decoders[number] = RowDecoder(storedEntity: storedEntity, steps: steps, composites: composites)
    }
    self.columns = columns
    self.decoders = decoders
    onlyDecoder = numbers.count == 1 ? decoders[mapping.number] : nil
  }

  /// The columns for a SELECT, qualified by a table's alias.
  ///
  /// ```text
  /// areKeys = false    t0.Z_PK, t0.Z_OPT, t0.ZAUTHOR, t0.ZISREAD, t0.ZPAGES, t0.ZTITLE
  /// areKeys = true     t0.Z_PK, t0.Z_OPT              for IDs, faults and batches of a fetch
  /// ```
  ///
  /// - Parameter areKeys: leaves the properties out.
  package func columnList(alias: String, areKeys: Bool = false) -> String {
    columns.prefix(columnCount(areKeys: areKeys)).map { "\(alias).\($0)" }.joined(separator: ", ")
  }

  package func columnCount(areKeys: Bool = false) -> Int { areKeys ? keyColumnCount : columns.count }

  /// Gives the body the cells of each row, its decoder and its entity. Rows of entities that the model lacks are left
  /// out.
  ///
  /// The order of a row's life: `next` steps the statement, the body decodes the cells into a snapshot, and only then
  /// the next step may come: texts of the cells are SQLite's own memory until then.
  @inlinable
  @inline(__always)
  package func forEachRow<Cells: RowCells>(
    _ next: () throws -> Cells?, _ body: (RowDecoder, StoredEntity, Cells) throws -> Void
  ) throws {
    if let onlyDecoder {
      // Both are counted once.
      let storedEntity = onlyDecoder.storedEntity
      while let cells = try next() { try body(onlyDecoder, storedEntity, cells) }
    } else {
      while let cells = try next() {
        if let decoder = decoder(cells) { try body(decoder, decoder.storedEntity, cells) }
      }
    }
  }

  /// The decoder of a row; nil for an entity that the model lacks.
  @inlinable
  @inline(__always)
  package func decoder(_ cells: some RowCells) -> RowDecoder? {
    if let onlyDecoder { return onlyDecoder }
    let number = Int(cells.key(2))
    return decoders.indices.contains(number) ? decoders[number] : nil
  }
}

/// The plans of a store's entities. Built once.
package struct RowPlans: Sendable {
  private let plans: [String: (deep: RowPlan, flat: RowPlan)]
  fileprivate let form: RowPlan.ColumnForm

  package init(_ schema: StoreSchema, _ storedEntities: StoredEntities, form: @escaping RowPlan.ColumnForm) {
    self.form = form
    func plan(_ mapping: TableMapping, _ includesSubentities: Bool) -> RowPlan {
      RowPlan(
        mapping, schema: schema, storedEntities: storedEntities, includesSubentities: includesSubentities, form: form)
    }
    plans = schema.entitiesByName.mapValues { (plan($0, true), plan($0, false)) }
  }

  package func plan(_ name: String, includesSubentities: Bool) -> RowPlan {
    guard let plan = plans[name] else { preconditionFailure("The store holds no entity \(name).") }
    return includesSubentities ? plan.deep : plan.flat
  }
}

extension SQLStore {
  package func plan(_ name: String, includesSubentities: Bool) -> RowPlan {
    plans.plan(name, includesSubentities: includesSubentities)
  }

  /// The plan for a fetch, which may name some properties only.
  package func plan(_ fetch: RowFetch) -> RowPlan {
    guard let properties = fetch.properties else {
      return plan(fetch.entityName, includesSubentities: fetch.includesSubentities)
    }
    return RowPlan(
      mapping(fetch.entityName), schema: schema, storedEntities: storedEntities,
      includesSubentities: fetch.includesSubentities, properties: properties, form: plans.form)
  }
}
