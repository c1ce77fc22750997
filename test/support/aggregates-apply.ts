import type pg from 'pg'
import { copyInto } from '#src/warehouse/db/copy.ts'
import { refreshSums } from '#src/warehouse/db/sums.ts'
import { dbOn } from '#src/warehouse/db/transaction.ts'
import {
  completed,
  evaluationRow,
  type FactChange,
  lineRow,
  type SmallLine,
  type SmallPriceRequest,
} from './aggregates.ts'

const children = ['core.reconditioning_item', 'core.price_observation', 'ops.enrichment_state']
const lineKey = 'rooftop_id, eval_id, first_version, line_no'

/** Makes a change of the facts and brings the sums up to date with it, as the pipeline does. */
export async function applyChange(client: pg.PoolClient, change: FactChange): Promise<void> {
  await changeFacts(client, change)
  await refreshSums(dbOn(client), [1, 2], touchedBy(change))
}

/** The evaluations that a change may concern. */
export function touchedBy(change: FactChange): readonly number[] {
  if ('evaluation' in change) return [change.evaluation.id]
  if ('lines' in change) return change.lines.map(({ id }) => id)
  if ('asking' in change) return [change.asking.id]
  const first = change.does === 'delete all' ? 1 : change.id
  return Array.from({ length: 10 }, (_, index) => first + index)
}

/** Each table by a statement of its own, as the loader and people at a prompt do. */
export async function changeFacts(client: pg.PoolClient, change: FactChange): Promise<void> {
  switch (change.does) {
    case 'insert':
      return await insert(
        client,
        'core.evaluation',
        [evaluationRow(change.evaluation)],
        'on conflict do nothing',
      )
    case 'upsert':
      return await insert(
        client,
        'core.evaluation',
        [evaluationRow(change.evaluation)],
        upsertEvaluation,
      )
    case 'reload':
      return await reload(client, change)
    case 'move':
      return await move(client, change.id, change.to, ['core.evaluation', ...children])
    case 'move back to front':
      return await move(client, change.id, change.to, [...children, 'core.evaluation'])
    case 'regroup':
      await client.query('update core.evaluation set group_id = $1 where eval_id >= $2', [
        change.to,
        change.id,
      ])
      return
    case 'mark':
      await client.query(
        'update core.evaluation set gone_at = case when gone_at is null then now() end where eval_id >= $1',
        [change.id],
      )
      return
    case 'delete':
      await client.query('delete from core.evaluation where eval_id = $1', [change.id])
      return
    case 'delete all':
      await client.query('delete from core.evaluation where rooftop_id = $1', [change.to])
      await client.query('delete from core.reconditioning_item where rooftop_id = $1', [change.to])
      return
    case 'lines':
      return await insert(
        client,
        'core.reconditioning_item',
        change.lines.map(lineRow),
        'on conflict do nothing',
      )
    case 'edit lines':
      return await editLines(client, change.lines)
    case 'delete lines':
      return await deleteLines(client, change.lines)
    case 'ask':
      return await ask(client, change.asking)
  }
}

const upsertEvaluation = `on conflict (group_id, eval_id) do update set rooftop_id = excluded.rooftop_id,
  completed_date_local = excluded.completed_date_local, user_id = excluded.user_id, final_price = excluded.final_price,
  photo_count = excluded.photo_count, gone_at = excluded.gone_at, vin = excluded.vin, recon_total = excluded.recon_total`

async function insert(
  client: pg.PoolClient,
  table: string,
  rows: readonly Readonly<Record<string, unknown>>[],
  conflict: string,
): Promise<void> {
  for (const row of rows) {
    // Without nulls: a warehouse of the baseline has no columns of later migrations.
    const names = Object.keys(row).filter((name) => row[name] !== null)
    const places = names.map((_, index) => `$${index + 1}`)
    await client.query(
      `insert into ${table} (${names.join(', ')}) values (${places.join(', ')}) ${conflict}`,
      names.map((name) => row[name]),
    )
  }
}

/** As loadRecords replaces a changed record: every table deleted and copied, the evaluation first. */
async function reload(
  client: pg.PoolClient,
  { evaluation, lines }: Extract<FactChange, { readonly does: 'insert' | 'upsert' | 'reload' }>,
): Promise<void> {
  await client.query('delete from core.evaluation where eval_id = $1', [evaluation.id])
  await copyInto(client, 'core.evaluation', [evaluationRow(evaluation)])
  await client.query('delete from core.reconditioning_item where eval_id = $1', [evaluation.id])
  const own = lines.map((one, index) => ({
    ...one,
    id: evaluation.id,
    rooftop: evaluation.rooftop,
    line: index + 1,
  }))
  await copyInto(client, 'core.reconditioning_item', own.map(lineRow))
}

async function move(
  client: pg.PoolClient,
  evalId: number,
  to: number,
  tables: readonly string[],
): Promise<void> {
  for (const table of tables) {
    // Children that the new rooftop has under the same number already would be in the way.
    if (table !== 'core.evaluation')
      await client.query(`delete from ${table} where eval_id = $1 and rooftop_id = $2`, [
        evalId,
        to,
      ])
    const first =
      table === 'core.evaluation'
        ? ''
        : `and rooftop_id = (select min(rooftop_id) from ${table} where eval_id = $2)`
    await client.query(`update ${table} set rooftop_id = $1 where eval_id = $2 ${first}`, [
      to,
      evalId,
    ])
  }
}

/** As the pricing stream does: the current observation superseded or confirmed, then the note of the asking. */
async function ask(client: pg.PoolClient, one: SmallPriceRequest): Promise<void> {
  const key = [one.rooftop, one.id]
  if (one.outcome === 'no price' || one.outcome === 'no note') {
    const table = one.outcome === 'no price' ? 'core.price_observation' : 'ops.enrichment_state'
    await client.query(`delete from ${table} where rooftop_id = $1 and eval_id = $2`, key)
    return
  }
  const at = new Date(completed + one.day * 86_400_000)
  if (one.outcome === 'price') await observe(client, one, at)
  await client.query(
    `insert into ops.enrichment_state (rooftop_id, stream, eval_id, ask, last_asked_at, outcome)
     values ($1, 'pricing', $2, 'pricingAi', $3, $4), ($1, 'vehicle-checks', $2, 'getpastppsrsearch', $3, 'failed')
     on conflict (rooftop_id, stream, eval_id, ask) do update set last_asked_at = excluded.last_asked_at, outcome = excluded.outcome`,
    [...key, at, one.outcome === 'price' ? 'answered' : one.outcome],
  )
}

async function observe(client: pg.PoolClient, one: SmallPriceRequest, at: Date): Promise<void> {
  const key = [one.rooftop, one.id]
  await client.query(
    `update core.price_observation set is_current = false
     where rooftop_id = $1 and eval_id = $2 and is_current and observed_at <> $3`,
    [...key, at],
  )
  await client.query(
    `insert into core.price_observation as old (rooftop_id, eval_id, price_source, observed_at, last_confirmed_at, is_current,
       as_of_date, currency_code, confidence, value_hash, run_id, wholesale, retail)
     values ($1, $2, 'pricing_ai', $3, $3, true, $3::timestamptz::date, 'AUD', 'High', '\\x00', 1, $4, 20000)
     on conflict (rooftop_id, eval_id, price_source, observed_at) do update
       set is_current = true, last_confirmed_at = old.last_confirmed_at + interval '1 day'`,
    // The second price is none to divide by.
    [...key, at, one.day === 1 ? '16000.5' : '0'],
  )
}

async function editLines(client: pg.PoolClient, lines: readonly SmallLine[]): Promise<void> {
  await client.query(
    `update core.reconditioning_item as item set cost = edit.cost, recon_type = edit.recon_type, last_version = edit.last_version
     from unnest($1::int[], $2::bigint[], $3::numeric[], $4::text[], $5::int[])
       as edit (rooftop_id, eval_id, cost, recon_type, last_version)
     where item.rooftop_id = edit.rooftop_id and item.eval_id = edit.eval_id`,
    [
      lines.map(({ rooftop }) => rooftop),
      lines.map(({ id }) => id),
      lines.map(({ cost }) => cost),
      lines.map(({ type }) => type),
      lines.map(({ last }) => last),
    ],
  )
}

async function deleteLines(client: pg.PoolClient, lines: readonly SmallLine[]): Promise<void> {
  await client.query(
    `delete from core.reconditioning_item where (${lineKey}) in (select * from unnest($1::int[], $2::bigint[], $3::int[], $4::int[]))`,
    [
      lines.map(({ rooftop }) => rooftop),
      lines.map(({ id }) => id),
      lines.map(({ first }) => first),
      lines.map(({ line }) => line),
    ],
  )
}
