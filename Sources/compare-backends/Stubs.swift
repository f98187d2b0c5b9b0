internal import TimerMeasurement
struct Page { let html: String; init(_ r: Report) { html = "" } }
struct CSVTable { let description: String; init(_ r: Report) { description = "" } }
struct MarkdownTable { let description: String; init(_ r: Report) { description = "" } }
enum PercentileFile { static func all(of r: Report) -> [(name: String, text: String)] { [] } }
enum SampleLines { static let header = ""; static func lines(round: Int, _ c: Case, _ t: Turn) -> String { "" } }
extension ResultTable { init(_ r: Report, colour: Bool) { self.init(r) } }
extension Console { var isColoured: Bool { false } }

