/** Work in progress, by its key: callers that ask for the same key meanwhile get the same answer. */
export class SingleFlight<T> {
  readonly #inProgress = new Map<string, Promise<T>>()

  /** Joins the work on `key`, or begins it. */
  async join(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#inProgress.get(key)
    if (before !== undefined) return await before
    const running = work().finally(() => this.#inProgress.delete(key))
    this.#inProgress.set(key, running)
    return await running
  }
}
