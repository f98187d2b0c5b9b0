/// A picture's place in the page, with its title and explanation.
struct PagePicture {
    /// The name by which the script knows the picture.
    let name: String
    let title: String
    /// The load of its rows; nil for all loads.
    let load: String?
    /// The main result that the picture shows.
    let sentence: String
    /// How to read the picture.
    let note: String
    /// Buttons beside the title, as HTML.
    var controls = ""

    var html: String {
        let load = load.map { " data-load=\"\(PageText.escaped($0))\"" } ?? ""
        return """
            <figure>
            <div class="title"><h3>\(PageText.escaped(title))</h3>\(controls)</div>
            <div class="picture" data-picture="\(name)"\(load)></div>
            <figcaption><p>\(PageText.escaped(sentence))</p><p class="quiet">\(PageText.escaped(note))</p></figcaption>
            </figure>
            """
    }
}
