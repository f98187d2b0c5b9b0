package import TimerResults

/// A row under a load, before it is measured.
package struct PlannedRow: Hashable, Sendable {
    package let row: Row
    package let load: Load

    package init(row: Row, load: Load) {
        self.row = row
        self.load = load
    }

    /// The name in the results.
    package var key: RowKey { RowKey(row: row.name, kind: row.kind, load: load.name) }
}
