import { startDetached } from '../../sync/run/run-streams.ts'
import type { RunRequest } from '../../sync/run/start-run.ts'
import { type ActionDone, ActionRefused, type ActionRequest } from './page.ts'

/** Starts a run that the workers do; its page is the answer. */
export async function startRunForWorkers(
  { context }: Pick<ActionRequest, 'context'>,
  request: RunRequest,
): Promise<ActionDone> {
  const { run } = await startDetached(context, request)
  return { location: `/runs/${run.runId}`, runId: run.runId }
}

/** How much a number may have changed since the page showed it. */
const allowedShare = 0.1

/** Refuses to act on many more or fewer than the person saw. `what`: `records are in quarantine`. */
export function assertSameCount(shown: string | undefined, now: number, what: string): void {
  const count = /^\d{1,9}$/.test(shown ?? '') ? Number(shown) : null
  if (count === null)
    throw new ActionRefused(
      'The number of what you saw is missing: load the page again and use its button.',
    )
  if (Math.abs(now - count) <= allowedShare * count) return
  throw new ActionRefused(
    `The page showed ${count.toLocaleString('en')}, and now ${now.toLocaleString('en')} ${what}: load it again and check them before you decide.`,
  )
}
