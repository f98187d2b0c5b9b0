extension String {
    /// The text on one line, for lists and messages: control characters and separators of lines are written as in a
    /// literal. Names and errors are the user's, and may have any.
    package var onOneLine: String {
        unicodeScalars.contains(where: \.isControl)
            ? unicodeScalars.map { $0.isControl ? $0.escaped(asASCII: true) : String($0) }.joined() : self
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
