/// What is wrong with a text, a plan, a rule or a file, in one line for its author.
package struct Problem: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
