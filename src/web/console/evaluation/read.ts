import { sql } from 'kysely'
import {
  findRecordRooftops,
  type Provenance,
  type RecordRooftop,
  readProvenanceAt,
} from '../../../sync/explain/provenance.ts'
import { type ReadingNote, readingNotes } from '../../../sync/explain/reading-notes.ts'
import { findRooftops } from '../../../sync/run/rooftops.ts'
import { readSourceNow } from '../../../warehouse/db/source-now.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { type PageRequest, parseId } from '../page.ts'
import { instantText } from '../parts/instant.ts'
import {
  chosenPayloads,
  evaluationRecords,
  type PayloadChanges,
  readChanges,
  type StoredPayload,
  storedPayloads,
} from './payloads.ts'

/** Several rooftops, of different dealer groups, have an evaluation with this number. */
interface Choice {
  readonly is: 'choice'
  readonly evalId: number
  readonly rooftops: readonly RecordRooftop[]
}

/** No rooftop has it. */
export interface Unknown {
  readonly is: 'unknown'
  readonly evalId: number
  /** When it was created, by the evaluations whose numbers are next to it; null: there is none on that side. */
  readonly after: Neighbour | null
  readonly before: Neighbour | null
  readonly windows: readonly CandidateWindow[]
}

interface Neighbour {
  readonly evalId: number
  readonly at: Date
}

/** A window that would have listed it. */
export interface CandidateWindow {
  readonly rooftop: string
  readonly from: Date
  readonly until: Date
  readonly listedAt: Date
  readonly listed: number
  readonly settled: boolean
  readonly runId: number
}

/** What a rooftop has of it. */
export interface Known {
  readonly is: 'known'
  readonly evalId: number
  readonly rooftop: RecordRooftop
  readonly others: readonly RecordRooftop[]
  readonly entry: Provenance
  readonly notes: readonly ReadingNote[]
  readonly payloads: readonly StoredPayload[]
  readonly changes: PayloadChanges | null
}

export type EvaluationData = Choice | Unknown | Known

/** What the page of an evaluation shows; null: there is no such address. */
export async function readEvaluation({
  db,
  params,
  query,
  config,
}: PageRequest): Promise<EvaluationData | null> {
  const evalId = parseId(params)
  if (evalId === null) return null
  const rooftops = await findRecordRooftops(db, evalId)
  if (rooftops.length === 0) return { is: 'unknown', evalId, ...(await readUnknown(db, evalId)) }
  const { rooftop: uid } = query
  if (uid === undefined && rooftops.length > 1) return { is: 'choice', evalId, rooftops }
  const rooftop = rooftops.find((one) => uid === undefined || one.uid === uid)
  if (rooftop === undefined) return null
  const now = await readSourceNow(db)
  const entry = await readProvenanceAt(db, rooftop, evalId, {
    ...{ config, stream: evaluationRecords, now },
    rooftops: await findRooftops(db, config.rooftops),
    // What they would ask now is read from all evaluations of the rooftop, which may take too long for a page.
    streams: [],
  })
  const timeText = (at: Date) => instantText(at, rooftop.timeZone)
  const payloads = storedPayloads(entry)
  const pair = chosenPayloads(payloads, query)
  const key = { rooftopId: rooftop.id, evalId }
  return {
    ...{ is: 'known', evalId, rooftop, entry, payloads },
    others: rooftops.filter((one) => one !== rooftop),
    notes: readingNotes(entry, { now, timeText }),
    changes: pair === null ? null : await readChanges(db, key, pair, config),
  }
}

/** Numbers grow with time: it was created between its neighbours, and the windows of that time would have listed it. */
async function readUnknown(
  db: Db,
  evalId: number,
): Promise<Pick<Unknown, 'after' | 'before' | 'windows'>> {
  const { rows } = await sql<Neighbour>`
    select distinct on (side) eval_id as "evalId", created_at as at
    from core.rooftop_group as own
    cross join lateral (
      (select 0 as side, eval_id, created_at from core.evaluation as e
      where e.group_id = own.group_id and eval_id < ${evalId} order by eval_id desc limit 1)
      union all
      (select 1, eval_id, created_at from core.evaluation as e
      where e.group_id = own.group_id and eval_id > ${evalId} order by eval_id limit 1)
    ) as neighbour
    order by side, abs(eval_id - ${evalId})`.execute(db)
  const after = rows.find((row) => row.evalId < evalId) ?? null
  const before = rows.find((row) => row.evalId > evalId) ?? null
  if (after === null || before === null) return { after, before, windows: [] }
  const [from, until] = [after.at, before.at].toSorted((a, b) => a.getTime() - b.getTime())
  const { rows: windows } = await sql<CandidateWindow>`
    select rooftop_name as rooftop, window_from as "from", window_until as until, listed_at as "listedAt", listed, settled, run_id as "runId"
    from core.rooftop
    cross join lateral (
      select * from ops.window_certificate as certificate
      where certificate.rooftop_id = rooftop.rooftop_id and stream = 'evaluations'
        and window_from <= ${until!} and window_from > ${from!}::timestamptz - interval '31 days' and window_until > ${from!}
      order by window_from limit 3
    ) as certificate
    order by window_from, rooftop_name limit 20`.execute(db)
  return { after, before, windows }
}
