import type { VirtualClock } from './clock.ts'

/** Limits of the service; the documents state that such limits exist, not their size. */
export const defaultLimits = {
  /** Real VIN and pricing look-ups per key and UTC day; beyond it 429 [A §8 "sandbox real-lookup quota"]. */
  lookupsPerDay: 100_000,
  /** PPSR searches of one vehicle per UTC day; beyond it 400 [A §7 /ppsrsearch]. */
  ppsrPerVehicle: 3,
  /** PPSR searches of a rooftop per UTC day; beyond it 429 [A §7 /ppsrsearch]. */
  ppsrPerDay: 200,
  /** Car History reports of a rooftop per UTC day; beyond it 429 [A §7 /carhistory]. */
  carHistoryPerDay: 200,
  /** How long a Car History report runs, real ms: a second call for the evaluation meanwhile gets 429 [A §8]. */
  carHistoryMs: 40,
  /** Vehicles in a price batch; beyond it 413 [V §8 "Maximum batch size: not shown"]. */
  batchVehicles: 5000,
  /** Bytes of all uploaded images; beyond it 500, "image could not be stored" [A §7 /imageupload]. */
  imageBytes: 512 * 1024 * 1024,
}
export type SandboxLimits = Readonly<typeof defaultLimits>

/** Daily counters, per UTC day of the virtual clock. */
export class Limits {
  #of: SandboxLimits
  readonly #clock: VirtualClock
  #day = ''
  #used = new Map<string, number>()

  constructor(clock: VirtualClock, limits: Partial<SandboxLimits> = {}) {
    this.#clock = clock
    this.#of = { ...defaultLimits, ...limits }
  }

  get current(): SandboxLimits {
    return this.#of
  }

  /** Changes limits; what was used today still counts. */
  set(limits: Partial<SandboxLimits>): void {
    this.#of = { ...this.#of, ...limits }
  }

  /** Uses one of the calls allowed today for the name; false when none is left. */
  take(name: string, allowed: number): boolean {
    const today = this.#clock.now().toISOString().slice(0, 10)
    if (today !== this.#day) {
      this.#day = today
      this.#used = new Map()
    }
    const used = this.#used.get(name) ?? 0
    if (used >= allowed) return false
    this.#used.set(name, used + 1)
    return true
  }
}
