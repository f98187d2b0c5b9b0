extension MachineFacts {
    /// Sources that a process reads by itself, without a system call.
    private static let fastSources: Set = [
        "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource", "timebase", "tod",
    ]
    /// Sources that take a system call, a slow device or an exit to the host.
    private static let slowSources: Set = [
        "hpet", "acpi_pm", "xen", "hyperv_clocksource_msr", "jiffies", "refined-jiffies", "pit",
    ]
    /// A system call takes longer than these nanoseconds, and a reading without one does not.
    private static let fastReading = 200.0

    var clockSourceFinding: MachineFinding {
        guard let source = host.clockSource else { return .unknown(.clockSource) }
        if Self.fastSources.contains(source) { return .good(.clockSource, source) }
        guard Self.slowSources.contains(source) else { return .unknown(.clockSource, "\(source), a rare one") }
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        let better = clockSources.first { Self.fastSources.contains($0) }
        let advice =
            better.map { "Each reading is slow: as root, write \($0) to \(file)." }
            ?? "Each reading is slow, and the kernel has no better source: dmesg says why it avoids tsc."
        return .limits(.clockSource, source, advice)
    }

    var clockReadingFinding: MachineFinding {
        guard let price = host.clockRead else { return .unknown(.clockReading) }
        let found = "\(NumberText.fixed(price, places: 0)) ns"
        if price <= Self.fastReading { return .good(.clockReading, found) }
        return .limits(
            .clockReading,
            found,
            "Each tick reads the clock several times: use a faster clock source, and no sandbox between the program "
                + "and the kernel."
        )
    }

    var resolutionFinding: MachineFinding {
        guard let resolution else { return .unknown(.resolution) }
        let found = DurationText.spaced(nanoseconds: resolution)
        if resolution <= 1 { return .good(.resolution, found) }
        return .limits(
            .resolution,
            found,
            "The kernel rounds deadlines up to this: remove highres=off from its boot options, or use a kernel with "
                + "CONFIG_HIGH_RES_TIMERS."
        )
    }
}
