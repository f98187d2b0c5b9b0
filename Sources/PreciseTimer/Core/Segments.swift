/// A list of plain values that grows and shrinks at its end, one segment at a time.
///
/// No value ever moves, so every append is quick, however long the list is; an array would copy all its values when
/// it is full. Memory is released as soon as two segments are empty.
@safe struct Segments<Element: BitwiseCopyable>: ~Copyable {
    /// The number of values.
    private(set) var count = 0
    /// The segments. The directory is small, and is copied when it is full.
    private var directory: UnsafeMutablePointer<UnsafeMutablePointer<Element>>?
    private var capacityOfDirectory = 0
    private var segments = 0

    /// An empty list, which allocates nothing.
    init() {}

    deinit {
        guard let directory = unsafe directory else { return }
        for segment in 0..<segments { unsafe directory[segment].deallocate() }
        unsafe directory.deallocate()
    }

    /// The value at a position, which must be below ``count``. Constant time.
    subscript(position: Int) -> Element {
        get { unsafe self[addressOf: position].pointee }
        set { unsafe self[addressOf: position].pointee = newValue }
    }

    /// Where the value at a position is stored. The values at 4i + 1 … 4i + 4 lie side by side. Constant time.
    subscript(addressOf position: Int) -> UnsafeMutablePointer<Element> {
        @inline(__always) get {
            assert(position >= 0 && position < count, "there is no such position")
            let padded = position &+ padding
            return unsafe directory.unsafelyUnwrapped[padded &>> shift] + (padded & (1 &<< shift - 1))
        }
    }

    /// Adds a value at the end. Takes at most the time of one allocation.
    @inline(__always) mutating func append(_ element: Element) {
        if count &+ padding >= segments &<< shift { addSegment() }
        count &+= 1
        self[count &- 1] = element
    }

    /// Removes the last value. Takes at most the time of one deallocation.
    @inline(__always) mutating func removeLast() {
        assert(count > 0, "there is nothing to take off")
        count &-= 1
        // One empty segment is kept, so that a list that grows and shrinks by one value allocates nothing.
        guard segments > 1, count &+ padding <= max((segments &- 2) &<< shift, padding) else { return }
        segments -= 1
        unsafe directory.unsafelyUnwrapped[segments].deallocate()
    }

    private mutating func addSegment() {
        if segments == capacityOfDirectory { growDirectory() }
        unsafe directory.unsafelyUnwrapped[segments] = .allocate(capacity: 1 << shift)
        segments += 1
    }

    private mutating func growDirectory() {
        capacityOfDirectory = max(8, segments * 2)
        let larger = UnsafeMutablePointer<UnsafeMutablePointer<Element>>.allocate(capacity: capacityOfDirectory)
        if let directory = unsafe directory {
            unsafe larger.moveInitialize(from: directory, count: segments)
            unsafe directory.deallocate()
        }
        unsafe directory = larger
    }
}

// Not members of the type, which is generic: the compiler would ask for them at run time.

/// The binary logarithm of the number of values in a segment.
private var shift: Int { 10 }

/// This many positions of the first segment stay empty, so that no group 4i + 1 … 4i + 4 is in two segments.
private var padding: Int { 3 }
