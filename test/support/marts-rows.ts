import type pg from 'pg'
import type { Rooftop } from '#src/sandbox/world-types.ts'
import { localDay } from '#src/values/instant.ts'
import { storable } from '#src/values/text.ts'
import type { MartFixture } from './marts-fixture.ts'
import { monthOf } from './marts-numbers.ts'
import { type SeenEvaluation, seenEvaluations } from './marts-truth.ts'
import { type StockUnit, stockUnits } from './marts-units.ts'
import type { TruthEvaluation } from './truth.ts'

/** A row of a report in the spelling of the driver: numeric and date as text, instants as ISO text. */
export type ReportRow = Readonly<Record<string, string | number | boolean | null>>

/** All that is true of a fixture, as of the instant that the reports are read at. */
export interface MartTruth {
  readonly fixture: MartFixture
  readonly present: readonly SeenEvaluation[]
  readonly gone: readonly SeenEvaluation[]
  readonly units: readonly StockUnit[]
  readonly now: Date
  readonly ids: Ids
}

/** Our numbers for the ids of the source: the one thing that is read from the warehouse. */
export interface Ids {
  rooftop(uid: string): number
  user(groupId: string, email: string): number
}

export async function martTruth(fixture: MartFixture, client: pg.ClientBase): Promise<MartTruth> {
  const { present, gone } = seenEvaluations(fixture)
  const { rows } = await client.query<{ now: Date }>('select now()')
  const units = stockUnits(fixture, present, gone)
  return { fixture, present, gone, units, now: rows[0]!.now, ids: await readIds(client) }
}

async function readIds(client: pg.ClientBase): Promise<Ids> {
  const rooftops = await client.query<{ name: string; id: number }>(
    'select rooftop_uid as name, rooftop_id as id from core.rooftop',
  )
  const users = await client.query<{ name: string; id: number }>(
    `select group_code || ' ' || lower(email) as name, user_id as id
     from pii.app_user_email join core.rooftop_group using (group_id)`,
  )
  const [byUid, byName] = [rooftops, users].map(
    ({ rows }) => new Map(rows.map(({ name, id }) => [name, id])),
  )
  return {
    rooftop: (uid) => byUid!.get(uid)!,
    user: (groupId, email) => byName!.get(`${groupId} ${email.toLowerCase()}`)!,
  }
}

/** Text as Postgres holds it; nothing and '' are null. */
export function textOf(value: string | null): string | null {
  return value === null || value === '' ? null : storable(value)
}

export function rooftopOf({ ids }: MartTruth, { uid, name }: Rooftop) {
  return { rooftop_id: ids.rooftop(uid), rooftop_name: name }
}

/** The first days of the months in which stock lists of some rooftops came. */
function listedMonths({ fixture }: MartTruth, isOf: (rooftop: Rooftop) => boolean): string[] {
  return fixture.stock
    .filter(({ rooftop }) => isOf(rooftop))
    .map(({ rooftop, importedAt }) => monthOf(localDay(importedAt, rooftop.timezone)))
    .sort()
}

/** Whether stock lists of some rooftops came in or before a month, and in or after another one. */
export function isListed(
  truth: MartTruth,
  isOf: (rooftop: Rooftop) => boolean,
  from: string,
  to: string,
): boolean {
  const months = listedMonths(truth, isOf)
  return months.length > 0 && months[0]! <= monthOf(from) && monthOf(to) <= months.at(-1)!
}

/** A count of bought vehicles of a month; null: the rooftop had no stock list before, or none since. */
export function knownBought(
  truth: MartTruth,
  { uid }: Rooftop,
  month: string,
  bought: number,
): number | null {
  return isListed(truth, (other) => other.uid === uid, month, month) ? bought : null
}

/** The salesperson that the evaluation, or one of its versions, names. */
export function salespersonOf(
  { ids }: MartTruth,
  { groupId, userEmail, userName }: TruthEvaluation,
) {
  if (userEmail === null) return { user_id: null, salesperson: null }
  return { user_id: ids.user(groupId, userEmail), salesperson: textOf(userName) }
}

/** What opens the rows of reports by evaluation. */
export function evaluationOf(truth: MartTruth, one: SeenEvaluation) {
  const { make, model, year } = one.truth
  return {
    ...rooftopOf(truth, one.rooftop),
    evaluation_key: evaluationKey(truth, one),
    eval_id: one.evalId,
    ...{ completed_date: one.completedOn, month_start: one.month },
    ...salespersonOf(truth, one.truth),
    ...{ make: textOf(make), model: textOf(model), model_year: year },
  }
}

export function evaluationKey({ ids }: MartTruth, one: SeenEvaluation): string {
  return `${ids.rooftop(one.rooftop.uid)}-${one.evalId}`
}

/** One row for each distinct key: the key, and what `describe` returns for the members. */
export function grouped<Item, Key extends ReportRow, Rest extends ReportRow>(
  items: readonly Item[],
  keyOf: (item: Item) => Key,
  describe: (members: readonly [Item, ...Item[]], key: Key) => Rest,
): (Key & Rest)[] {
  const groups = Map.groupBy(items, (item) => JSON.stringify(keyOf(item)))
  return [...groups.values()].map((members) => {
    const key = keyOf(members[0]!)
    return { ...key, ...describe(members as [Item, ...Item[]], key) }
  })
}

/** How many of them. */
export function count<Item>(items: readonly Item[], isOne: (item: Item) => boolean): number {
  return items.filter(isOne).length
}
