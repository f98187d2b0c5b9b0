/// A list of plain values that grows and shrinks at its end, a segment at a time.
///
/// No value ever moves, so that no append takes long, however many there are: an array would copy them all when it is
/// full. Memory goes back when the last segment but one is empty.
@safe
struct Segments<Element: BitwiseCopyable>: ~Copyable {
    /// How many values there are.
    private(set) var count = 0
    /// The segments. Of these there are few; they are copied when the directory is full.
    private var directory: UnsafeMutablePointer<UnsafeMutablePointer<Element>>
    private var capacityOfDirectory = 8
    private var segments = 0

    /// A segment has two to the power of this many values.
    private static var shift: Int { 10 }

    init() { unsafe directory = .allocate(capacity: capacityOfDirectory) }

    deinit {
        for segment in 0..<segments { unsafe directory[segment].deallocate() }
        unsafe directory.deallocate()
    }

    /// The value at a position, which must be below ``count``. Constant time.
    subscript(position: Int) -> Element {
        get {
            assert(position >= 0 && position < count, "there is no such position")
            return unsafe directory[position >> Self.shift][position & (1 << Self.shift - 1)]
        }
        set {
            assert(position >= 0 && position < count, "there is no such position")
            unsafe directory[position >> Self.shift][position & (1 << Self.shift - 1)] = newValue
        }
    }

    /// Adds a value at the end. The time of at most one allocation.
    mutating func append(_ element: Element) {
        if count == segments << Self.shift { addSegment() }
        count += 1
        self[count - 1] = element
    }

    /// Takes the value at the end off. The time of at most one release of memory.
    mutating func removeLast() {
        assert(count > 0, "there is nothing to take off")
        count -= 1
        // One is kept, so that a list that grows and shrinks by one value allocates nothing.
        guard segments > 1, count <= (segments - 2) << Self.shift else { return }
        segments -= 1
        unsafe directory[segments].deallocate()
    }

    private mutating func addSegment() {
        if segments == capacityOfDirectory {
            let larger = UnsafeMutablePointer<UnsafeMutablePointer<Element>>.allocate(capacity: segments * 2)
            unsafe larger.moveInitialize(from: directory, count: segments)
            unsafe directory.deallocate()
            unsafe directory = larger
            capacityOfDirectory = segments * 2
        }
        unsafe directory[segments] = .allocate(capacity: 1 << Self.shift)
        segments += 1
    }
}
