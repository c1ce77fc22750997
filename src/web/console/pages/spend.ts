import { sql } from 'kysely'
import { type BilledCall, readSpend, type Spend } from '../../../app/billing/spend.ts'
import { type Html, html } from '../../../values/html.ts'
import { addDays } from '../../../values/instant.ts'
import type { Db } from '../../../warehouse/db/transaction.ts'
import { columns } from '../charts/columns.ts'
import { chartFigure } from '../charts/plot.ts'
import { definePage } from '../page.ts'
import { badge, type Tone } from '../parts/badge.ts'
import { evaluationLink } from '../parts/evaluation-link.ts'
import { agoText, instant } from '../parts/instant.ts'
import { numbers, table } from '../parts/table.ts'

interface OpenRow extends Pick<BilledCall, 'callId' | 'operation' | 'subject' | 'by' | 'note'> {
  readonly budget: string
  readonly uid: string | null
  readonly rooftop: string | null
  readonly at: Date
}

/** Who paid for what today. */
interface PayerRow {
  readonly by: string
  readonly rooftop: string | null
  readonly budget: string
  readonly calls: number
}

interface DayRow {
  readonly budget: string
  readonly day: string
  readonly committed: number
  readonly reserved: number
}

interface SavedRow {
  readonly day: string
  readonly requests: number
  readonly saved: number
}

const chartDays = 90
const savedDays = 14

export const spend = definePage({
  path: '/spend',
  title: 'Spend',
  question: 'What was paid today, by which person, for what, and how much is left?',
  roles: ['engineer', 'viewer'],
  navigation: 'Spend',
  async read({ db, config, now }) {
    const budgets = await readSpend(db, config.budget)
    return {
      // Budgets are of the UTC day.
      today: now.toISOString().slice(0, 10),
      budgets,
      open: await readOpen(db),
      payers: await readPayers(db),
      days: await readDays(db),
      saved: await readSaved(db),
    }
  },
  draw({ today, budgets, open, payers, days, saved }, { config, now }) {
    const zone = config.console!.timezone
    const used = Object.entries(budgets)
    const charted = [...new Set(days.map((row) => row.budget))]
    return html`${table({
      caption: `Today, ${today} (UTC)`,
      columns: [
        'Budget',
        numbers('Allowed'),
        numbers('Used'),
        numbers('Left'),
        numbers('Outcome unknown'),
      ],
      rows: used.map(([name, figures]) => [
        html`<code>budget.${name}</code> ${budgetBadge(figures)}`,
        ...[
          figures.allowed,
          figures.used,
          Math.max(0, figures.allowed - figures.used),
          figures.unknown,
        ],
      ]),
      empty: html`No call was paid for today, and none may be: every <code>budget</code> of the config is 0.`,
    })}
<h2>Outcome unknown</h2>
${table({
  caption: 'Calls that may have been billed, oldest first; at most 50',
  columns: ['When', 'Call', 'Subject', 'By', 'What is known'],
  rows: open.map((row) => [
    html`${instant(row.at, zone)}<small>${agoText(row.at, now)}</small>`,
    html`${row.operation}<small>budget.${row.budget}</small>`,
    html`${evaluationLink(row.subject, row.uid)}<small>${row.rooftop}</small>`,
    row.by,
    row.note ?? 'the process ended before the answer came',
  ]),
  empty: 'None: the outcome of every call is known.',
})}
<h2>Calls of today</h2>
${table({
  caption: 'By person and rooftop; calls that were refused or not sent are left out',
  columns: ['By', 'Rooftop', 'Budget', numbers('Calls')],
  rows: payers.map((row) => [row.by, row.rooftop ?? 'none named', row.budget, row.calls]),
  empty: 'No call was paid for today.',
})}
${used.map(([name, { calls }]) => drawCalls(name, calls, zone))}
<h2>The last ${chartDays} days</h2>
${charted.map((name) => drawDays(name, days, today))}
${charted.length === 0 && html`<p class="empty">No call was paid for in this time.</p>`}
<h2>Calls saved</h2>
${table({
  caption: `The last ${savedDays} days (UTC): reads that were made, and further ones that were not needed`,
  columns: ['Day', numbers('Made'), numbers('Saved')],
  rows: saved.map((row) => [
    row.day,
    ...[row.requests, row.saved].map((count) => count.toLocaleString('en')),
  ]),
  empty: 'No run has read anything in this time.',
})}
<p class="note">Saved: asking about every evaluation in every run would have taken these calls too. Reads cost nothing.</p>`
  },
})

function budgetBadge({ allowed, used }: Spend): Html {
  if (allowed === 0) return badge('off', 'quiet')
  return used >= allowed ? badge('used up', 'warn') : badge('open', 'ok')
}

const stateTones: Readonly<Record<BilledCall['state'], Tone>> = {
  ...{ reserved: 'warn', committed: 'ok', released: 'quiet' },
}
const stateWords: Readonly<Record<BilledCall['state'], string>> = {
  ...{ reserved: 'outcome unknown', committed: 'paid', released: 'not paid' },
}

function drawCalls(budget: string, calls: readonly BilledCall[], zone: string): Html | false {
  if (calls.length === 0) return false
  return table({
    caption: html`<code>budget.${budget}</code>: the newest calls of today, at most 50`,
    columns: ['When', 'Call', 'Subject', 'State', 'By', 'Check'],
    rows: calls.map((call) => [
      instant(call.at, zone),
      call.operation,
      html`${evaluationLink(call.subject, call.rooftop)}${call.vin !== call.subject && html`<small>${call.vin}</small>`}`,
      html`${badge(stateWords[call.state], stateTones[call.state])}<small>${call.note}</small>`,
      call.by,
      call.check ?? '–',
    ]),
    empty: '',
  })
}

function drawDays(budget: string, rows: readonly DayRow[], today: string): Html {
  const days = Array.from({ length: chartDays }, (_, at) => addDays(today, at - chartDays + 1))
  const budgetRows = new Map(
    rows.filter((row) => row.budget === budget).map((row) => [row.day, row]),
  )
  return chartFigure(
    columns({
      title: `Calls a day on budget.${budget}`,
      unit: 'calls',
      days,
      series: [
        { name: 'paid', values: days.map((day) => budgetRows.get(day)?.committed ?? 0) },
        { name: 'outcome unknown', values: days.map((day) => budgetRows.get(day)?.reserved ?? 0) },
      ],
    }),
  )
}

async function readOpen(db: Db): Promise<OpenRow[]> {
  const { rows } = await sql<OpenRow>`
    select call_id as "callId", operation, budget, natural_key as subject, rooftop_uid as uid, rooftop_name as rooftop,
      requested_by as by, at, note
    from ops.billable_call left join core.rooftop using (rooftop_id)
    where state = 'reserved' order by at, call_id limit 50`.execute(db)
  return rows
}

async function readPayers(db: Db): Promise<PayerRow[]> {
  const { rows } = await sql<PayerRow>`
    select requested_by as by, rooftop_name as rooftop, budget, count(*)::int as calls
    from ops.billable_call left join core.rooftop using (rooftop_id)
    where state <> 'released' and day = (now() at time zone 'UTC')::date
    group by requested_by, rooftop_name, budget order by calls desc, by, rooftop, budget limit 50`.execute(
    db,
  )
  return rows
}

async function readDays(db: Db): Promise<DayRow[]> {
  const { rows } = await sql<DayRow>`
    select budget, day, (count(*) filter (where state = 'committed'))::int as committed,
      (count(*) filter (where state = 'reserved'))::int as reserved
    from ops.billable_call
    where state <> 'released' and day > (now() at time zone 'UTC')::date - ${chartDays}::int
    group by budget, day order by budget, day`.execute(db)
  return rows
}

/** By the day on which the run began. */
async function readSaved(db: Db): Promise<SavedRow[]> {
  const since = sql`((now() at time zone 'UTC')::date - ${savedDays - 1}::int)::timestamp at time zone 'UTC'`
  // Ids grow with time: backwards by them until one is older. As a number it limits both tables, else every part of every run is read.
  const { rows: older } = await sql<{ id: number }>`
    select run_id as id from ops.run where started_at < ${since} order by run_id desc limit 1`.execute(
    db,
  )
  const first = older[0]?.id ?? 0
  const { rows } = await sql<SavedRow>`
    select (started_at at time zone 'UTC')::date as day, sum(requests)::int as requests, sum(saved)::int as saved
    from ops.run join ops.run_stream as part using (run_id)
    where started_at >= ${since} and run.run_id > ${first}::bigint and part.run_id > ${first}::bigint
    group by 1 order by 1 desc`.execute(db)
  return rows
}
