extension Spinner {
    /// What a spinner does, at one moment.
    package struct Report: Sendable {
        /// The plan's state.
        package let plan: SpinPlan
        /// Why the thread does not spin; nil if it may.
        package let obstacle: String?
    }
}
