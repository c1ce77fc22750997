import type { Context } from '../../context.ts'
import { listInboxes } from '../../stock/folders/inbox.ts'
import { hasFaults } from '../../stock/folders/pass.ts'
import { delayed, runOnce } from '../../stock/folders/watch.ts'

/** How long the import of the present file may take after a stop; the scheduler waits a little longer. */
const endSeconds = 15

/** Imports what is complete in the drop folders. A file that fails is reported by an alert of its own, not as a failed job. */
export async function importInboxes(context: Context) {
  const { pool, db, config, log, signal, crashPoint } = context
  const services = {
    ...{ warehouse: { pool, db, config }, log, crashPoint, now: () => new Date() },
    ...{ signal: delayed(signal, endSeconds), stopping: signal },
  }
  const report = await runOnce(services, listInboxes(config))
  const { files, waiting, problems } = report
  const ended = (state: string) => files.filter((file) => file.state === state).length
  const counts = {
    ...{ done: ended('done'), failed: files.length - ended('done'), waiting: waiting.length },
  }
  const texts = [
    ...problems.map(({ problem }) => problem),
    ...files.flatMap(({ file, state, reason }) =>
      state === 'done' ? [] : [`${file}: ${reason?.split('\n')[0] ?? 'not imported'}`],
    ),
  ]
  if (!hasFaults(report)) return { status: 'ok', runs: [], counts } as const
  const error = texts.length > 0 ? texts.slice(0, 3).join('; ') : 'some rows were rejected'
  return { status: 'partial', runs: [], counts, error } as const
}
