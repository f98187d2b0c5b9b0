extension Figure {
    /// A place of a figure in a table.
    package struct Column: Sendable {
        package enum Place: Hashable, Sendable {
            /// The table on a terminal and in Markdown.
            case table
            /// The page's table.
            case page
            /// The page's table of further figures.
            case details
        }

        package let place: Place
        /// The heading that neighbours share.
        package let group: String
        package let title: String
        /// The line of the legend; nil if a neighbour's line explains the column.
        package let about: String?
        /// Whether a value above zero must catch the eye.
        package let isAlarming: Bool
        /// Whether a table of a report has the column.
        package let isShown: @Sendable (Report) -> Bool
        /// The cell of a row; nil for the usual text of the figure.
        package let text: (@Sendable (RowReport) -> String)?
    }

    /// The figure with one more column.
    func column(
        _ place: Column.Place,
        _ group: String,
        _ title: String,
        _ about: String? = nil,
        isAlarming: Bool = false,
        if isShown: @escaping @Sendable (Report) -> Bool = { _ in true },
        text: (@Sendable (RowReport) -> String)? = nil
    ) -> Figure {
        var figure = self
        figure.columns.append(
            Column(
                place: place,
                group: group,
                title: title,
                about: about,
                isAlarming: isAlarming,
                isShown: isShown,
                text: text
            )
        )
        return figure
    }
}
