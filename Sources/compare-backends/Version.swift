internal import FoundationEssentials
internal import HostSystem
internal import TimerResults

/// The version of the command, and the sources that it was built from.
enum Version {
    static let name = "0.1.0"

    /// The commit of the sources' repository; nil if they are in no repository, or if another commit was checked
    /// out or made after the command was built.
    static var commit: String? {
        // This file is three folders below the repository.
        var folder = #filePath[...]
        for _ in 0..<3 { folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)] }
        guard let built = change(of: "/proc/self/exe"), let folder = gitFolder(of: folder),
            let log = ProcFile.text("\(folder)/logs/HEAD"), let checkedOut = change(of: "\(folder)/logs/HEAD"),
            checkedOut < built
        else { return nil }
        // Each line of the log has the commit before, and the commit that was checked out or made.
        let words = log.split(separator: "\n").last?.split(separator: " ")
        return words.flatMap { $0.count > 1 ? String($0[1]) : nil }
    }

    /// The folder of a working tree's repository. A tree beside the first one has a file that names its folder.
    private static func gitFolder(of folder: Substring) -> String? {
        let path = "\(folder)/.git"
        guard let text = ProcFile.text(path) else { return path }
        let name = "gitdir: "
        return text.split(separator: "\n").first { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }
    }

    /// When a file last changed; nil if there is no such file.
    private static func change(of path: String) -> Date? {
        let file = URL(filePath: path).resolvingSymlinksInPath().path
        return (try? FileManager.default.attributesOfItem(atPath: file))?[.modificationDate] as? Date
    }

    /// The origin of a measurement that ends now.
    static func origin(since start: Date) -> Origin {
        Origin(
            date: start.formatted(.iso8601),
            seconds: (Date.now.timeIntervalSince(start) * 10).rounded() / 10,
            version: name,
            commit: commit
        )
    }
}
