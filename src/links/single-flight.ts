/** Work that is under way, by what it is about: whoever asks for the same meanwhile gets the same answer. */
export class SingleFlight<T> {
  readonly #underWay = new Map<string, Promise<T>>()

  /** Joins the work on `key`, or begins it. */
  async join(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#underWay.get(key)
    if (before !== undefined) return await before
    const begun = work().finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, begun)
    return await begun
  }
}
