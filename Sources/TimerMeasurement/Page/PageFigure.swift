/// A picture's place in the page, with its title and what it shows in words.
struct PageFigure {
    /// The name by which the script knows what to draw.
    let picture: String
    let title: String
    /// The load whose cases it shows; nil for all.
    let load: String?
    /// What it shows, from the data.
    let sentence: String
    /// How it is read.
    let note: String
    /// Buttons beside the title, as HTML.
    var controls = ""

    var html: String {
        let load = load.map { " data-load=\"\(PageText.escaped($0))\"" } ?? ""
        return """
            <figure>
            <div class="title"><h3>\(PageText.escaped(title))</h3>\(controls)</div>
            <div class="picture" data-picture="\(picture)"\(load)></div>
            <figcaption><p>\(PageText.escaped(sentence))</p><p class="quiet">\(PageText.escaped(note))</p></figcaption>
            </figure>
            """
    }
}
