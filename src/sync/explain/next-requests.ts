import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { Enrichment } from '../enrich/enrichment.ts'
import { parkedUntil } from '../enrich/enrichment-state.ts'
import type { Stream } from '../run/stream.ts'

/** The rooftop whose record is asked about, its siblings among `rooftops`, and the source's time. */
interface RequestScope {
  readonly config: Config
  readonly streams: readonly Stream[]
  readonly rooftop: RooftopRow
  readonly rooftops: readonly RooftopRow[]
  readonly now: Date
}

/** One question of an enrichment stream about a record: its last answer, and when it is asked again. */
export interface NextRequest {
  readonly stream: string
  readonly ask: string
  readonly lastAskedAt: Date | null
  readonly outcome: string | null
  readonly detail: string | null
  /** null: not again, unless the record changes. */
  readonly nextAt: Date | null
  /** The key has used up its quota until then. */
  readonly parkedUntil: Date | null
}

interface RequestState {
  readonly ask: string
  readonly lastAskedAt: Date | null
  readonly outcome: string
  readonly detail: string | null
  readonly nextDueAt: Date | null
}

/** What the enrichment streams have asked about the record, and when they ask next. */
export async function readNextRequests(
  db: Db,
  scope: RequestScope,
  id: number,
): Promise<NextRequest[]> {
  const found: NextRequest[] = []
  for (const { enrichment: stream } of scope.streams) {
    if (stream === undefined || !stream.serves(scope.rooftop)) continue
    const states = await readRequestStates(db, stream, scope.rooftop, id)
    const due = await dueRequests(db, stream, scope, id)
    const parked = await parkedUntil(db, { stream, rooftop: scope.rooftop }, scope.now)
    for (const ask of stream.asks) {
      const state = states.find((one) => one.ask === ask)
      if (state === undefined && !due.has(ask)) continue
      const { lastAskedAt = null, outcome = null, detail = null, nextDueAt = null } = state ?? {}
      const nextAt = due.has(ask) ? scope.now : nextDueAt
      const asked = { stream: stream.name, ask, lastAskedAt, outcome, detail, nextAt }
      found.push({ ...asked, parkedUntil: parked?.until ?? null })
    }
  }
  return found
}

async function readRequestStates(
  db: Db,
  { name }: Enrichment,
  { id: rooftopId }: RooftopRow,
  id: number,
): Promise<readonly RequestState[]> {
  // A state that moved here with its record may hold -infinity: never.
  const { rows } = await sql<RequestState>`
    select ask, case when isfinite(last_asked_at) then last_asked_at end as "lastAskedAt", outcome, detail,
      case when isfinite(next_due_at) then next_due_at end as "nextDueAt"
    from ops.enrichment_state where rooftop_id = ${rooftopId} and stream = ${name} and eval_id = ${id}`.execute(
    db,
  )
  return rows
}

/** What the next run would ask, had it no budget. */
async function dueRequests(
  db: Db,
  stream: Enrichment,
  { rooftop, rooftops, config, now }: RequestScope,
  id: number,
): Promise<ReadonlySet<string>> {
  const siblings = rooftops.filter(({ groupId }) => groupId === rooftop.groupId)
  const all = Number.MAX_SAFE_INTEGER
  const due = await stream.due(
    db,
    rooftop,
    {
      ...{ now, runStart: now, limit: all, budget: all, only: null, evalId: id },
      ...{ scope: 'all', history: null },
      siblings: siblings.map((one) => one.id),
    },
    config,
  )
  return new Set(due.map(({ ask }) => ask))
}
