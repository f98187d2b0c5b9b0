import Foundation
import FoundationNetworking
import Glibc
import PreciseTimer
import PreciseTimerPatterns
import PreciseTimerTestKit
import Testing

// A client with an error of its own, and a server that asks for a pause (`backoff: { error, attempt in … }`).

private func load(_ url: URL, within limit: Duration) async throws -> Data {
    let isTimeOut = { (error: any Error) in error is TimeoutError }
    let isCancellation = { (error: any Error) in (error as? URLError)?.code == .cancelled }
    return try await withRetry(attempts: 3, backoff: .constant(.zero), retryIf: isTimeOut) {
        try await withTimeout(limit, isCancellation: isCancellation) { try await URLSession.shared.data(from: url).0 }
    }
}

struct TooManyRequests: Error { var retryAfter: Duration? }

private func load(_ url: URL, on service: TimerService) async throws -> String {
    let usual = PreciseTimer.Backoff.exponential(from: .milliseconds(100), upTo: .seconds(10))
    let pause = { (error: any Error, attempt: Int) in
        (error as? TooManyRequests).map { $0.retryAfter ?? usual.pause(after: attempt) }
    }
    return try await withRetry(attempts: 5, backoff: pause, longestPause: .seconds(60), on: service) {
        let (data, response) = try await URLSession.shared.data(from: url)
        guard let response = response as? HTTPURLResponse, response.statusCode == 429 else {
            return String(decoding: data, as: UTF8.self)
        }
        let seconds = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }
        throw TooManyRequests(retryAfter: seconds.map { .seconds(max($0, 0)) })
    }
}

struct ClientTests {
    @Test func aRequestToASilentServerIsATimeOut() async throws {
        let server = try Server(answers: [nil, nil, nil])
        let error = await #expect(throws: TimeoutError.self) { try await load(server.url, within: .milliseconds(50)) }
        #expect(error?.underlying is URLError)
    }

    @Test func aRequestThatTimedOutIsTriedAgain() async throws {
        let server = try Server(answers: [nil, "200 OK"])
        #expect(try await load(server.url, within: .seconds(3)) == Data("200 OK".utf8))
    }

    @Test func aServerThatAsksForAPauseGetsIt() async throws {
        let server = try Server(answers: [
            "429 Too Many Requests\r\nRetry-After: 3", "429 Too Many Requests\r\nRetry-After: 7200", "200 OK",
        ])
        let virtual = VirtualTime()
        let start = virtual.now
        let answer = Task { try await load(server.url, on: virtual.service) }
        for pause in [Duration.seconds(3), .seconds(60)] {
            while virtual.nextDeadline == nil { try await Task.sleep(for: .milliseconds(1)) }
            #expect(virtual.nextDeadline.map { virtual.now.duration(to: $0) } == pause)
            virtual.advanceWithoutSettling(by: pause)
        }
        #expect(try await answer.value == "200 OK")
        #expect(start.duration(to: virtual.now) == .seconds(63))
    }
}

/// A server on a port of the loopback device. It gives each connection the next of its answers; nil for silence.
private final class Server: Sendable {
    private let descriptor: Int32
    let url: URL

    init(answers: [String?]) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, size) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        try #require(isBound)
        self.descriptor = descriptor
        url = try #require(URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/"))
        Thread.detachNewThread {
            for answer in answers {
                let connection = accept(descriptor, nil, nil)
                var request = [UInt8](repeating: 0, count: 4_096)
                _ = unsafe read(connection, &request, request.count)
                guard let answer else { continue }
                let body = answer.prefix { $0 != "\r\n" }
                let text =
                    "HTTP/1.1 \(answer)\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                _ = unsafe text.withCString { unsafe write(connection, $0, strlen($0)) }
                close(connection)
            }
        }
    }

    deinit { close(descriptor) }
}
