import ArgumentParser
import Foundation

/// Instructions per operation, which do not depend on the machine's load.
struct Instructions: Measurement {
    static let configuration = CommandConfiguration(
        abstract: "Instructions per operation, counted by valgrind's callgrind.",
        discussion: "`.ci/instructions` compares them with the limits in Benchmarks/instructions.txt."
    )
    static let heading = "Instructions"

    @OptionGroup var options: Options

    static func tables(_ options: Options) throws -> [Table] {
        var table = Table(title: "Instructions per operation, PreciseTimer", columns: ["", "instructions"])
        let counted = URL(fileURLWithPath: Program.own).deletingLastPathComponent().path + "/counted"
        if Program.find("valgrind") == nil {
            table.remarks = ["valgrind is not installed: nothing was counted."]
        } else if !FileManager.default.isExecutableFile(atPath: counted) {
            table.remarks = ["`counted` is not built: run `swift build -c release --package-path Benchmarks` first."]
        } else {
            progress("instructions: under callgrind")
            let lines = try Program.run(counted, []).split(separator: "\n")
            table.rows = lines.map { $0.split(separator: " ").map(String.init) }
        }
        return [table]
    }
}
