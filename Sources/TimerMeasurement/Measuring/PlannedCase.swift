/// A row under a load, before it is measured.
package struct PlannedCase: Hashable, Sendable {
    package let row: Row
    package let load: Load

    /// As the results name it.
    package var `case`: Case { Case(row: row.name, kind: row.kind, load: load.name) }
}
