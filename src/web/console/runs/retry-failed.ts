import { sql } from 'kysely'
import type { Config } from '../../../app/config/read.ts'
import { allStreams } from '../../../streams/all.ts'
import { type RunDetail, readKnownRooftops, showRun } from '../../../sync/explain/run-history.ts'
import { type Html, html } from '../../../values/html.ts'
import { rooftopOptions } from '../../../values/shell.ts'
import { plural } from '../../../values/text.ts'
import { toUnixSeconds } from '../../../values/unix-seconds.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { ActionRefused, type PageAction, parseId } from '../page.ts'
import { actionButton } from '../parts/form.ts'
import { link } from '../parts/link.ts'
import { assertSameCount, startRunForWorkers } from '../start-run.ts'

/** A stream of a rooftop that failed in a run. */
interface Failure {
  readonly uid: string
  readonly stream: string
  /** The first later run that did it well; null: it is still to be done. */
  readonly repairedBy: number | null
}

/** What failed in a run that a sync can do again. A parked stream is not among it: its key may send nothing before tomorrow. */
export async function readFailures(
  db: Db,
  { runId, mode }: Pick<RunDetail, 'runId' | 'mode'>,
): Promise<Failure[]> {
  if (mode !== 'sync' && mode !== 'backfill') return []
  const { rows } = await sql<Failure>`
    select rooftop_uid as uid, stream, repaired.run_id as "repairedBy"
    from ops.run_stream as part join core.rooftop using (rooftop_id)
    left join lateral (
      select run_id from ops.run_stream as later join ops.run using (run_id)
      where later.rooftop_id = part.rooftop_id and later.stream = part.stream and later.run_id > part.run_id
        and later.status = 'ok' and arguments ->> 'mode' = 'sync'
      order by run_id limit 1) as repaired on true
    where part.run_id = ${runId}::bigint and (part.status = 'failed' or part.status = 'partial' and error is not null)
    order by rooftop_uid, stream`.execute(db)
  return rows
}

/** The failures that no later run has repaired, at rooftops of the config; `retired`: how many other rooftops have such. */
function openFailures(failures: readonly Failure[], { rooftops }: Pick<Config, 'rooftops'>) {
  const configured = new Set(rooftops.map(({ uid }) => uid))
  const open = failures.filter(({ repairedBy }) => repairedBy === null)
  const uids = new Set(open.map(({ uid }) => uid))
  const named = new Set(open.flatMap(({ uid, stream }) => (configured.has(uid) ? [stream] : [])))
  return {
    uids: [...uids.intersection(configured)],
    retired: uids.difference(configured).size,
    streams: allStreams.filter(({ name }) => named.has(name)),
  }
}

/** A command for more rooftops is one for all of them. */
const maxNamed = 10

/** The button that does again what failed, and the command that does the same. */
export function retryAction(
  runId: number,
  failures: readonly Failure[],
  config: Pick<Config, 'rooftops'>,
): Html | null {
  if (failures.length === 0) return null
  const { uids, streams, retired } = openFailures(failures, config)
  const repaired = [...new Set(failures.flatMap(({ repairedBy }) => repairedBy ?? []))]
  const runs = repaired.slice(0, 5).map((id) => html` ${link(`run ${id}`, `/runs/${id}`)}`)
  const ofRetired =
    retired > 0 &&
    html`<p class="note">What failed at ${plural(retired, 'rooftop')} stays as it is: the config no longer names ${retired === 1 ? 'it' : 'them'}.</p>`
  if (uids.length === 0)
    return html`${repaired.length > 0 && html`<p class="note">${ofRetired === false ? 'All' : 'Else all'} that failed here was done well since, by${runs}.</p>`}${ofRetired}`
  const names = streams.map(({ name }) => name).join(' ')
  const isForAll = uids.length > maxNamed
  const options = isForAll ? '' : rooftopOptions(...uids)
  const label = `Sync ${plural(uids.length, 'failed rooftop')} again`
  const fields = { count: uids.length }
  return html`<p>${actionButton({ path: `/runs/${runId}`, action: 'retry', label, fields, isMain: true })}</p>
<p class="note">${plural(streams.length, 'stream')}, left to the workers. On a command line, in its own process${isForAll && ', for all rooftops'}:</p>
<pre><code>forecourt sync ${names}${options}</code></pre>
${repaired.length > 0 && html`<p class="note">Some of what failed was done well since, by${runs}.</p>`}${ofRetired}`
}

/** Leaves a sync of the rooftops and streams that failed to the workers. */
export const retryFailed: PageAction = {
  roles: ['engineer'],
  run: async (request) => {
    const { db, config, params, form } = request
    const runId = parseId(params) ?? 0
    const found = await showRun(db, runId, await readKnownRooftops(db))
    if (found === null)
      throw new ActionRefused(`Run ${params['id']} is not in the warehouse any more.`)
    if (found.status === 'running' || found.lane === 'background')
      throw new ActionRefused(`Run ${runId} has not ended, or is a backfill, which is resumed.`)
    const { uids, streams } = openFailures(await readFailures(db, found), config)
    const rooftops = config.rooftops.filter(({ uid }) => uids.includes(uid))
    if (rooftops.length === 0)
      throw new ActionRefused(
        'Nothing is left to do again: later runs have done it, or the rooftops are no longer in the config.',
      )
    assertSameCount(form['count'], uids.length, 'rooftops failed and are still to be done')
    const from = toUnixSeconds(config.sync.start)
    const plan = { command: 'sync', mode: 'sync', from, until: null } as const
    return await startRunForWorkers(request, { plan, streams, rooftops })
  },
}
