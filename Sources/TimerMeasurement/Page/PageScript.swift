enum PageScript {
    static let errors = ""
    static let text = ""
}
