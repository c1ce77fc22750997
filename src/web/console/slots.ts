/** Counts what runs at once in this process, by name. */
export class Slots {
  readonly #taken = new Map<string, number>()

  /** Takes one of each name, and gives what frees them; null: of one, as many as its limit are taken. */
  take(limits: Readonly<Record<string, number>>): (() => void) | null {
    const entries = Object.entries(limits)
    const add = (change: number) => {
      for (const [name] of entries) {
        const count = (this.#taken.get(name) ?? 0) + change
        if (count > 0) this.#taken.set(name, count)
        else this.#taken.delete(name)
      }
    }
    if (entries.some(([name, limit]) => (this.#taken.get(name) ?? 0) >= limit)) return null
    add(1)
    return () => add(-1)
  }
}
