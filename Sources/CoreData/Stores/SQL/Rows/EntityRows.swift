/// How the rows of a store's entities are read and written, by the entities' numbers. Made once, when the store is
/// opened.
///
/// Indexed by the entity's number, so that a row finds its writer without hashing a name. Number 0 has none.
package struct EntityRows<Writer, Queries> {
  package let storedEntities: StoredEntities
  package let plans: RowPlans
  /// The statements that find rows by their keys; nil for an entity without rows of its own.
  package let queries: [Queries?]
  package let writers: [Writer?]

  /// - Parameter form: a column's text in a SELECT.
  package init(
    _ schema: StoreSchema, _ reference: StoreReference, form: @escaping RowPlan.ColumnForm,
    queries: (RowPlan, TableMapping) -> Queries?, writer: (TableMapping, [UniqueConstraint]) -> Writer
  ) {
    storedEntities = StoredEntities(schema, reference: reference)
    plans = RowPlans(schema, storedEntities, form: form)
    var allQueries: [Queries?] = Array(repeating: nil, count: storedEntities.byNumber.count)
    var writers: [Writer?] = Array(repeating: nil, count: storedEntities.byNumber.count)
    for mapping in schema.entities {
      allQueries[mapping.number] = queries(plans.plan(mapping.name, includesSubentities: false), mapping)
      writers[mapping.number] = writer(mapping, schema.uniqueConstraints(of: mapping))
    }
    self.queries = allQueries
    self.writers = writers
  }

  package func writer(_ number: Int) -> Writer {
    guard writers.indices.contains(number), let writer = writers[number] else {
      preconditionFailure("The store holds no entity number \(number).")
    }
    return writer
  }
}
