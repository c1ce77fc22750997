import { type Kysely, sql } from 'kysely'
import { watchPpsr } from '../../api/contract/appraisal/checks.ts'
import { buildCheckRef, type CheckKind } from '../../api/contract/appraisal/past-checks.ts'
import {
  type Derivation,
  type DeriveOptions,
  payloadKeys,
} from '../../sync/records/payload-rows.ts'
import { eventLoopYielder } from '../../values/event-loop-yielder.ts'
import { RecordIssues, type Rejected, type Row } from '../../values/record.ts'
import type { RooftopRow } from '../../values/rooftop.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import type { Tables } from '../../warehouse/db/tables.ts'
import {
  deriveStatus,
  type ReadAnswer,
  readAnswer,
  type StatusFacts,
  type StoredAnswer,
  toleranceMs,
} from './derive-status.ts'
import { pastAsks } from './due.ts'
import {
  checkKey,
  findOwners,
  type KnownCheck,
  knownChecks,
  type ListedCheck,
  onePerCheck,
  type PastAnswer,
} from './known-checks.ts'
import { checkRow, linkRow, lostChecks, mergeListed } from './load-past-checks.ts'

const endpoints = [pastAsks.ppsr, pastAsks.car_history, watchPpsr.name]

/** The newest list of the checks of one kind on a vehicle. */
type Listing = PastAnswer & { readonly runId: number }

export function checkKeys(rooftopIds: readonly number[]) {
  return payloadKeys(rooftopIds, endpoints)
}

/**
 * Checks and links as the newest lists of their vehicles show them. What an answer whose payload is not stored has changed since
 * stays: a payload is stored only when its content is new, and a permalink signs links without one. The changes of a watch's status
 * are not derived: an answer that repeats a status stores no payload.
 */
export async function deriveChecks(
  db: Kysely<Tables>,
  rooftop: RooftopRow,
  keys: readonly string[],
  { wire: { appraisal: wire } }: DeriveOptions,
): Promise<Derivation> {
  const unfit: Rejected[] = []
  const byVin = Map.groupBy(await readAnswers(db, rooftop, keys), ({ vin }) => vin)
  // Several evaluations of a vehicle have answers: it is compared with that of the newest.
  const isOwn = ({ rooftopId, naturalKey }: StoredAnswer) =>
    rooftopId === rooftop.id && keys.includes(naturalKey)
  const vehicles = [...byVin.values()].filter((answers) => isOwn(answers.at(-1)!))
  const giveWay = eventLoopYielder()
  const listed: { readonly answers: readonly ReadAnswer[]; readonly lists: Listing[] }[] = []
  for (const answers of vehicles) {
    await giveWay()
    const read = answers.flatMap((answer) => readOrReject(answer, wire, unfit))
    // Where the newest answer does not fit, an older one proves nothing.
    const isNewestRead = endpoints.every((endpoint) => {
      const isOfEndpoint = (one: StoredAnswer) => one.endpoint === endpoint
      return answers.findLast(isOfEndpoint)?.readAt === read.findLast(isOfEndpoint)?.readAt
    })
    if (isNewestRead) listed.push({ answers: read, lists: newestListings(read, rooftop) })
  }
  const facts = await readFacts(
    db,
    rooftop.groupId,
    listed.flatMap(({ lists }) => lists),
  )
  const checks: Pairs = { stored: [], derived: [] }
  const links: Pairs = { stored: [], derived: [] }
  for (const { answers, lists } of listed)
    for (const list of lists) await deriveListing(db, list, { answers, facts, checks, links })
  const recordOf = (row: Row) => String(row['eval_id'])
  return {
    tables: [
      { table: 'core.vehicle_check', ...checks, recordOf },
      { table: 'pii.signed_link', ...links, recordOf },
    ],
    unfit,
  }
}

interface Pairs {
  readonly stored: Row[]
  readonly derived: Row[]
}

/** All answers about the vehicles of these evaluations, oldest first, without those from before a correction of the VIN. */
async function readAnswers(
  db: Kysely<Tables>,
  { id, groupId }: RooftopRow,
  keys: readonly string[],
): Promise<StoredAnswer[]> {
  const { rows } = await sql<StoredAnswer>`
    select own.vehicle_vin as vin, endpoint, answer.rooftop_id as "rooftopId", natural_key as "naturalKey", answer.run_id as "runId",
      fetched_at + coalesce(source_started_at - date_trunc('milliseconds', started_at), '0') as "readAt", body::text as text
    from core.evaluation as own
    join raw.payload as answer on answer.rooftop_id = own.rooftop_id and natural_key = own.eval_id::text
      and endpoint = any(${endpoints}::text[])
    left join ops.run on run.run_id = answer.run_id
    where own.group_id = ${groupId} and own.vehicle_vin in (
        select vehicle_vin from core.evaluation where rooftop_id = ${id} and eval_id = any(${keys.map(Number)}::bigint[]))
      and not exists (
        select from core.evaluation_version as edit
        where edit.rooftop_id = own.rooftop_id and edit.eval_id = own.eval_id and 'vin' = any(changed_fields)
          and edit.observed_at > fetched_at)
    order by fetched_at, natural_key, endpoint`.execute(db)
  return rows
}

/** The answer as read; nothing where it no longer fits. */
function readOrReject(
  answer: StoredAnswer,
  wire: AppraisalWire,
  unfit: Rejected[],
): readonly ReadAnswer[] {
  try {
    return [readAnswer(answer, wire)]
  } catch (error) {
    if (!(error instanceof RecordIssues)) throw error
    const { naturalKey, endpoint, text } = answer
    unfit.push({ naturalKey: `${naturalKey}/${endpoint}`, issues: error.issues, payload: text })
    return []
  }
}

function newestListings(answers: readonly ReadAnswer[], { groupId }: RooftopRow): Listing[] {
  return (['ppsr', 'car_history'] as const).flatMap((kind) => {
    const newest = answers.findLast(({ endpoint }) => endpoint === pastAsks[kind])
    if (!newest?.listed) return []
    const { vin, readAt: at, runId, listed } = newest
    return [{ groupId, kind, vin, at, runId, isOfThisVehicle: true, ...listed }]
  })
}

/** What is stored about the vehicles. */
interface Facts extends StatusFacts {
  /** The rows of the known checks, by `keyOf`. */
  readonly rows: ReadonlyMap<string, Row>
  readonly links: readonly Row[]
  readonly vinsInGroup: ReadonlySet<string>
  /** Evaluations whose customer was erased, with the links of their checks. */
  readonly erased: ReadonlySet<number>
}

async function readFacts(
  db: Kysely<Tables>,
  groupId: number,
  lists: readonly Listing[],
): Promise<Facts> {
  const rowsOf = async (query: ReturnType<typeof sql<Row>>) => (await query.execute(db)).rows
  const vins = lists.map(({ vin }) => vin)
  const refs = lists.flatMap(({ vin, checks }) => checks.map((check) => buildCheckRef(check, vin)))
  const ofVehicles = sql`group_id = ${groupId} and (vin = any(${vins}::text[]) or check_ref = any(${refs}::text[]))`
  const checks = await rowsOf(sql`select * from core.vehicle_check where ${ofVehicles}`)
  const links = await rowsOf(sql`
    select link.* from pii.signed_link as link join core.rooftop using (rooftop_id)
    where group_id = ${groupId} and link_ref = any(${refs}::text[])`)
  const named = await rowsOf(sql`
    select distinct vehicle_vin as vin from core.evaluation
    where group_id = ${groupId} and vehicle_vin = any(${checks.map((row) => row['vin'])}::text[])`)
  const erased = await rowsOf(sql`
    select eval_id from pii.suppressed_evaluation where group_id = ${groupId} and scope = 'customer'
      and eval_id = any(${checks.map((row) => row['eval_id'])}::bigint[])`)
  const terminal = await rowsOf(
    sql`select watch_status from core.ref_watch_status where is_terminal`,
  )
  const recorded = await rowsOf(sql`
    select check_kind, check_ref from core.vehicle_check as own
    join core.watch_status_change as change using (rooftop_id, eval_id, check_kind, check_ref)
    where ${ofVehicles} and (to_status, observed_at) = (watch_status, watch_status_since)`)
  const keyOfRow = (row: Row) =>
    checkKey(row['check_kind'] as CheckKind, row['check_ref'] as string)
  const rows = new Map(checks.map((row) => [keyOfRow(row), row]))
  const known = await knownChecks(db, groupId, vins, refs)
  return {
    rows,
    links,
    // Without those that another process has added between the two reads.
    known: known.filter(({ kind, ref }) => rows.has(checkKey(kind, ref))),
    vinsInGroup: new Set(named.map((row) => row['vin'] as string)),
    erased: new Set(erased.map((row) => row['eval_id'] as number)),
    terminal: new Set(terminal.map((row) => row['watch_status'] as string)),
    recorded: new Set(recorded.map(keyOfRow)),
  }
}

interface Vehicle {
  readonly answers: readonly ReadAnswer[]
  readonly facts: Facts
  readonly checks: Pairs
  readonly links: Pairs
}

/** The rows of the checks that a list shows, and of those that it no longer shows. */
async function deriveListing(
  db: Kysely<Tables>,
  listing: Listing,
  vehicle: Vehicle,
): Promise<void> {
  const { groupId, kind, vin, at, runId } = listing
  const { facts, checks } = vehicle
  for (const listed of onePerCheck([listing])) {
    const { check } = listed
    const key = checkKey(kind, check.ref)
    const known = facts.known.find((one) => checkKey(one.kind, one.ref) === key)
    if (known === undefined) {
      const [owner] = await findOwners(db, groupId, [{ vin, at: check.searchedAt ?? at }])
      if (!owner) continue
      const made = checkRow(listed, owner, runId)
      const status = deriveStatus(
        { ...made, watch_status: null, watch_status_since: null },
        vehicle,
      )
      const since = status === null ? null : at
      // Only a paid answer holds the results.
      const unknown = { security_interest_count: null, written_off_count: null, stolen_count: null }
      const watch = { watch_status: status, watch_status_since: since, gone_at: null }
      checks.derived.push({ ...made, ...unknown, ...watch })
      deriveLink(vehicle, listed, owner)
      continue
    }
    // The lists of its own vehicle decide about it.
    if (known.vin !== vin && facts.vinsInGroup.has(known.vin)) continue
    const row = facts.rows.get(key)!
    checks.stored.push(row)
    const merged = mergeListed(known, listed)
    checks.derived.push({ ...row, ...merged, watch_status: deriveStatus(row, vehicle) })
    deriveLink(vehicle, listed, known)
  }
  const latest = new Date(at.getTime() + toleranceMs)
  for (const lost of lostChecks({ ...listing, at: latest }, facts.known)) {
    const row = facts.rows.get(checkKey(kind, lost.ref))!
    checks.stored.push(row)
    checks.derived.push({ ...row, gone_at: at })
  }
}

/** The link of a listed check. A link that was signed after the list is another answer's. */
function deriveLink(
  { facts, links }: Vehicle,
  listed: ListedCheck,
  owner: Pick<KnownCheck, 'rooftopId' | 'evalId'>,
): void {
  if (facts.erased.has(owner.evalId)) return
  const made = linkRow(listed, owner)
  const key = ['rooftop_id', 'eval_id', 'link_kind', 'link_ref'] as const
  const link = facts.links.find((row) => key.every((name) => row[name] === made[name]))
  if (link) links.stored.push(link)
  if (link && Number(link['signed_at']) > made.signed_at.getTime() + toleranceMs)
    links.derived.push(link)
  else if (made.url !== null) links.derived.push({ ...made, ...link, url: made.url })
}
