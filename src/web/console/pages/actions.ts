import { sql } from 'kysely'
import { emailKey } from '../../../app/config/console.ts'
import { html } from '../../../values/html.ts'
import { definePage } from '../page.ts'
import { badge, type Tone } from '../parts/badge.ts'
import { instant } from '../parts/instant.ts'
import { cutPage, idBefore, olderLink, pageSize } from '../parts/pager.ts'
import { numbers, table } from '../parts/table.ts'

interface ActionRow {
  readonly id: number
  readonly at: Date
  readonly email: string
  readonly role: string
  readonly action: string
  readonly target: Readonly<Record<string, unknown>>
  readonly shownCount: number | null
  readonly outcome: 'started' | 'done' | 'refused' | 'failed'
  readonly message: string | null
  readonly runId: number | null
}

const tones: Readonly<Record<ActionRow['outcome'], Tone>> = {
  ...{ started: 'quiet', done: 'ok', refused: 'warn', failed: 'bad' },
}

export const actions = definePage({
  path: '/actions',
  title: 'Actions',
  question: 'Who did what here, and how did it end?',
  roles: ['engineer', 'viewer'],
  navigation: 'Actions',
  isMinor: true,
  async read({ db, query }) {
    const { who = '' } = query
    const ofOne = who === '' ? sql`true` : sql`email = ${emailKey(who)}`
    const { rows } = await sql<ActionRow>`
      select action_id as id, at, email, role, action, target, shown_count as "shownCount",
        outcome, message, run_id as "runId"
      from ops.console_action where action_id < ${idBefore(query['before'])} and ${ofOne}
      order by action_id desc limit ${pageSize + 1}`.execute(db)
    return { who, ...cutPage(rows) }
  },
  draw({ who, shown, hasMore }, { config }) {
    const zone = config.console!.timezone
    const allLink = html`<a href="/console/actions">Show everyone</a>`
    return html`${who !== '' && html`<p>Only those of ${who}. ${allLink}.</p>`}
${table({
  caption: 'Newest first',
  columns: ['When', 'Who', 'What', numbers('Records'), 'Outcome', 'Run'],
  rows: shown.map((row) => [
    instant(row.at, zone, { seconds: true }),
    html`<a href="/console/actions?who=${encodeURIComponent(row.email)}">${row.email}</a><small>${row.role}</small>`,
    html`${row.action}<small>${targetText(row.target)}</small>`,
    row.shownCount ?? '–',
    html`${badge(row.outcome, tones[row.outcome])}<small>${row.message}</small>`,
    row.runId === null ? '–' : html`<a href="/console/runs/${row.runId}">${row.runId}</a>`,
  ]),
  empty:
    who === ''
      ? 'No one has done anything here yet. Whatever an engineer starts from a page is listed here.'
      : html`${who} has done nothing here. ${allLink}.`,
})}
${hasMore && olderLink('/actions', { who, before: shown.at(-1)!.id })}`
  },
})

/** On what: the page and the fields of its form. */
function targetText(target: ActionRow['target']): string {
  return Object.entries(target)
    .map(([name, value]) => `${name} ${String(value).slice(0, 80)}`)
    .join(', ')
    .slice(0, 240)
}
