import type { Context } from '../context.ts'
import { messageOf } from '../errors.ts'
import { startHere } from '../pipeline/run-streams.ts'
import type { RunRequest } from '../pipeline/start-run.ts'

/** Runs that this process works on while it serves. They stop at a clean checkpoint when the context's signal aborts. */
export class BackgroundRuns {
  readonly #context: Context
  readonly #open = new Set<Promise<void>>()

  constructor(context: Context) {
    this.#context = context
  }

  /** Starts a run and gives its id. BusyError when another run holds the same work. */
  async start(request: RunRequest): Promise<number> {
    const { log } = this.#context
    const { runId, ended } = await startHere(this.#context, request)
    const done = ended.then(
      ({ report }) => log.info({ runId, status: report.status }, 'run ended'),
      (error: unknown) => log.error({ runId }, `the run failed: ${messageOf(error)}`),
    )
    this.#open.add(done)
    void done.finally(() => this.#open.delete(done))
    return runId
  }

  /** Resolves when none of them is at work. */
  async ended(): Promise<void> {
    await Promise.all(this.#open)
  }
}
