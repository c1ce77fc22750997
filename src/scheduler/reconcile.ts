import type { Context } from '../context.ts'
import type { RunReport } from '../pipeline/run-report.ts'
import { findRooftops } from '../pipeline/rooftops.ts'
import type { RunRequest } from '../pipeline/start-run.ts'
import { isProved, verifyStream } from '../pipeline/verify.ts'

/** Why the coverage is not proved after everything was listed again; undefined when it is. */
export async function findUnproved(
  { db, config }: Context,
  streams: RunRequest['streams'],
  { runId }: RunReport,
): Promise<string | undefined> {
  const rooftops = await findRooftops(db, config.rooftops)
  const left = await db
    .selectFrom('ops.window_certificate')
    .select(({ fn }) => fn.countAll<number>().as('windows'))
    .where(
      'rooftop_id',
      'in',
      rooftops.map(({ id }) => id),
    )
    .where(
      'stream',
      'in',
      streams.map(({ name }) => name),
    )
    .where('settled', '=', true)
    .where('run_id', '<', runId)
    .executeTakeFirstOrThrow()
  if (left.windows > 0) return `${left.windows} windows were not listed again`
  for (const stream of streams)
    for (const rooftop of rooftops) {
      if (stream.kind !== 'windowed') continue
      const verification = await verifyStream(db, stream, rooftop, config.sync, new Date())
      if (!isProved(verification))
        return `the coverage of ${stream.name} of ${rooftop.name} is not proved: see "forecourt verify"`
    }
  return undefined
}
