/// Several measurements put together, or held against each other.
extension Results {
    /// Pools measurements of equal rows on one machine: the laps of all stand one after the other. Throws `Problem` if
    /// they are not of one machine, question and set of rows.
    package static func pooled(_ results: [Results]) throws(Problem) -> Results {
        guard var pooled = results.first else { throw Problem("there is nothing to pool") }
        for (number, other) in results.enumerated().dropFirst() {
            if let difference = pooled.difference(from: other) { throw Problem("they cannot be pooled: \(difference)") }
            guard pooled.rows.map(\.key) == other.rows.map(\.key) else {
                throw Problem("they cannot be pooled: they have different rows")
            }
            guard !zip(pooled.rows, other.rows).contains(where: { $0.turns.contains($1.turns.first ?? $0.turns[0]) })
            else {
                throw Problem("they cannot be pooled: they have laps of one measurement in common")
            }
            pooled.align()
            var other = other
            other.align()
            for place in pooled.rows.indices { pooled.rows[place].add(other.rows[place]) }
            pooled.laps += other.laps
            pooled.origin.seconds += other.origin.seconds
            pooled.machine = pooled.machine.mean(with: other.machine, of: number + 1)
            pooled.remarks += other.remarks.filter { !pooled.remarks.contains($0) }
            pooled.isStopped = pooled.isStopped || other.isStopped
            // They were judged by fewer laps.
            pooled.judgements = []
            if let problem = pooled.problem { throw Problem("together it \(problem)") }
        }
        return pooled
    }

    /// Drops an incomplete last lap, so that the laps of another measurement can follow.
    private mutating func align() {
        let laps = rows.map(\.turns.count).min() ?? 0
        for place in rows.indices { rows[place].turns = Array(rows[place].turns.prefix(laps)) }
        self.laps = Array(self.laps.prefix(laps))
    }

    /// Why two results are not of one question and machine, in a few words; nil if they are.
    package func difference(from other: Results) -> String? {
        options.difference(from: other.options) ?? host.difference(from: other.host)
    }
}

extension MachineState {
    /// The mean of some states, of which the other is the last.
    fileprivate func mean(with other: MachineState, of count: Int) -> MachineState {
        func part(_ part: KeyPath<MachineState, Double?>) -> Double? {
            guard let mine = self[keyPath: part], let last = other[keyPath: part] else { return other[keyPath: part] }
            return mine + (last - mine) / Double(count)
        }
        var mean = MachineState(
            others: part(\.others),
            waiting: part(\.waiting),
            stolen: part(\.stolen),
            loadAverage: part(\.loadAverage)
        )
        mean.quota = other.quota.map { last in
            quota.map { $0.adding(last, share: $0.share + (last.share - $0.share) / Double(count)) } ?? last
        }
        return mean
    }
}

extension Options {
    package func difference(from other: Options) -> String? {
        if period != other.period {
            let periods = [self, other].map { DurationText.spaced(nanoseconds: $0.period) }
            return "a period of \(periods[0]) and one of \(periods[1])"
        }
        if timers != other.timers { return "\(timers) timers and \(other.timers)" }
        if delivery != other.delivery { return "handlers delivered \(delivery) and \(other.delivery)" }
        if clock != other.clock { return "the \(clock) clock and the \(other.clock) clock" }
        if thread != other.thread { return "threads with \(thread ?? "nothing") and with \(other.thread ?? "nothing")" }
        return nil
    }
}

extension Host {
    /// Why two machines are not the same one in the same state, in a few words. Two kernels on one machine can be
    /// compared: a reader may want to see what a new kernel changed.
    package func difference(from other: Host) -> String? {
        func pair<Fact: Equatable>(_ fact: KeyPath<Host, Fact?>) -> (Fact, Fact)? {
            guard let mine = self[keyPath: fact], let others = other[keyPath: fact], mine != others else { return nil }
            return (mine, others)
        }
        if machine != other.machine { return "\(machine) and \(other.machine)" }
        if cpu != other.cpu { return "\(cpu ?? "an unnamed processor") and \(other.cpu ?? "an unnamed processor")" }
        if processors != other.processors { return "\(processors) processors and \(other.processors)" }
        if let (mine, others) = pair(\.usableProcessors) { return "\(mine) usable processors and \(others)" }
        if cpuQuota != other.cpuQuota {
            let limits = [cpuQuota, other.cpuQuota].map { $0.map { NumberText.fixed($0, places: 2) } ?? "none" }
            return "a processor quota of \(limits[0]) and of \(limits[1])"
        }
        if let (mine, others) = pair(\.governor) { return "the governors \(mine) and \(others)" }
        if let (mine, others) = pair(\.clockSource) { return "the clock sources \(mine) and \(others)" }
        return build == other.build ? nil : "a \(build.rawValue) build and a \(other.build.rawValue) build"
    }
}

extension Results {
    /// Adds a lap that this build and another measured, each in a process of its own. The other's rows get names of
    /// their own. Throws `Problem` if the other build answers another question, or measured under other conditions.
    package mutating func add(lapOf this: Results, and other: Results) throws(Problem) {
        if let difference = this.difference(from: other) { throw Problem("the other build differs: \(difference)") }
        laps.append(Lap(waiting: this.laps.first?.waiting, stolen: this.laps.first?.stolen))
        machine = machine.mean(with: this.machine, of: laps.count * 2 - 1).mean(with: other.machine, of: laps.count * 2)
        for (results, isOther) in [(this, false), (other, true)] {
            for var row in results.rows {
                if isOther { row.key = RowKey(RowKey.other + row.key.row, .peer, load: row.key.load) }
                if let place = rows.firstIndex(where: { $0.key == row.key }) {
                    rows[place].add(row)
                } else {
                    rows.append(row)
                }
            }
        }
    }
}
