// Every other target of the library is built after this one, so this message comes first.
#if !os(Linux) && !canImport(Darwin)
#error("PreciseTimer needs Linux or a Mac: it knows no timer of this system's kernel.")
#endif
