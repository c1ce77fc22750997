/** Runs a few tasks at once: the database is read while files are on their way. */
export class Tasks implements AsyncDisposable {
  readonly #atOnce: number
  readonly #running = new Set<Promise<void>>()
  #fault: { readonly error: unknown } | null = null

  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  /** Starts a task as soon as there is room. Throws the first fault of an earlier one. */
  async add(task: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#atOnce) await Promise.race(this.#running)
    this.#throwFault()
    const running: Promise<void> = task()
      .catch((error: unknown) => {
        this.#fault ??= { error }
      })
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  /** Waits for all tasks, even when one has failed: none must write any more afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running)
  }

  /** Waits for all tasks and throws the first fault. */
  async end(): Promise<void> {
    await this[Symbol.asyncDispose]()
    this.#throwFault()
  }

  #throwFault(): void {
    if (this.#fault !== null) throw this.#fault.error
  }
}

/** Works on all items, a few at once; throws the first fault when all have ended. */
export async function inTurns<T>(
  atOnce: number,
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const tasks = new Tasks(atOnce)
  for (const item of items) await tasks.add(async () => await work(item))
  await tasks.end()
}
