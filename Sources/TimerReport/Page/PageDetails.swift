/// A part of the page that opens when a reader asks for it.
struct PageDetails {
    /// The name of the part in the page's address.
    let name: String
    let title: String
    /// What the part tells, in a few words.
    let about: String
    let content: String

    /// Nothing, if there is no content.
    var html: String {
        content.isEmpty
            ? ""
            : """
            <details data-open="\(name)"><summary><h3>\(PageText.escaped(title))</h3> \
            <span>\(PageText.escaped(about))</span></summary>
            <div class="content">
            \(content)
            </div></details>
            """
    }
}
