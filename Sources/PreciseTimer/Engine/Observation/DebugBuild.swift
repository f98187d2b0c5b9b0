/// Whether this is a debug build, which warns the developer on standard error.
var isDebugBuild: Bool {
    #if DEBUG
    true
    #else
    false
    #endif
}
