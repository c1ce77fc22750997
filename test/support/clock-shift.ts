/** By how many seconds libfaketime has shifted the clock of this process and of its Postgres: `.ci/another-time`. */
export const clockShiftSeconds = Number(process.env['FAKETIME'] ?? 0)

/** Then the timers of Postgres never run out: time-outs of statements and locks. Tests of them are skipped, and run at the real time. */
export const isClockShifted = clockShiftSeconds !== 0
