import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import { sql } from 'kysely'
import type { Config } from '../../app/config/read.ts'
import { shortened } from '../../values/text.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import type { ListCheck } from '../import/list-check.ts'
import { refusalWords } from '../refusal.ts'
import { folders, type Inbox, inboxLabel, listInboxes, refusedRequest } from './inbox.ts'
import { consoleStep } from './offer-upload.ts'
import { timeText } from './report-text.ts'

/** A file that was not imported and that no one has dealt with. */
interface OpenFile {
  readonly file: string
  /** Its path; null: it disappeared. */
  readonly path: string | null
  readonly since: string
  readonly reason: string
  /** What imports it after all; none: it has to be exported again. */
  readonly commands: readonly string[]
  readonly alertKey: string
  /** The upload of the console that waits with it; null: none. */
  readonly uploadId: string | null
}

/** The status of a drop folder. */
export interface InboxStatus {
  /** never: no process has watched it yet. The worst of the others counts. */
  readonly status: 'ok' | 'never' | 'late' | 'failed' | 'unusable'
  readonly expectDaily: string | null
  readonly timezone: string
  /** When the newest list came. */
  readonly newestAt: string | null
  readonly checkedAt: string | null
  /** The time by which a list was expected that has not come. */
  readonly lateSince: string | null
  readonly problem: string | null
  /** Files that are in the folder or being imported. */
  readonly waiting: readonly string[]
  readonly failed: readonly OpenFile[]
}

interface Facts {
  readonly key: string
  readonly isKnown: boolean
  readonly arrivedAt: Date | null
  readonly checkedAt: Date | null
  readonly problem: string | null
  readonly lateSince: Date | null
  readonly waiting: string[] | null
  readonly failed: FailedFile[] | null
}

/** An open file as it is stored. */
interface FailedFile extends Omit<OpenFile, 'path' | 'reason' | 'commands'> {
  readonly takenAs: string
  readonly isGone: boolean
  readonly reason: string | null
  readonly refused: readonly {
    readonly check: ListCheck
    readonly uid: string
    readonly name: string
  }[]
}

/** A list that comes at most this long before the expected time is the one of that day. */
const earliest = '12 hours'

/** The status of every drop folder of the config, by folder and pattern. */
export async function readInboxStatuses(
  db: Db,
  config: Config,
): Promise<Readonly<Record<string, InboxStatus>>> {
  const inboxes = listInboxes(config)
  if (inboxes.length === 0) return {}
  const { rows } = await statusQuery(inboxes).execute(db)
  const facts = new Map(rows.map((row) => [row.key, row]))
  return Object.fromEntries(
    inboxes.map((inbox) => [inboxLabel(inbox), inboxStatus(inbox, facts.get(inbox.key)!)]),
  )
}

// A newer snapshot makes a failed one obsolete, and so does an import of the same content by hand. Nothing is left of a file that
// disappeared that a person could remove: it is over once a file of its name is imported.
const statusQuery = (inboxes: readonly Inbox[]) => sql<Facts>`
select wanted.key, known.inbox is not null as "isKnown", arrived_at as "arrivedAt", checked_at as "checkedAt", problem,
  case when slot > known_since and coalesce(arrived_at < slot - ${earliest}::interval, true) then slot end as "lateSince",
  (select array_agg(file_name order by file_id) from (
    select file_name, file_id from ops.stock_inbox_file as file
    where file.inbox = wanted.key and state in ('waiting', 'taken', 'decided') order by file_id limit 20) as shown) as waiting,
  (select json_agg(json_build_object('file', file_name, 'takenAs', taken_as, 'isGone', state = 'gone', 'since', ended_at,
      'alertKey', alert_key, 'uploadId', (select upload_id from ops.stock_upload as upload
        where upload.inbox_file_id = one.file_id and upload.import_id is null and upload.ends_at > now()), 'reason', reason,
      'refused', array(select json_build_object('check', result, 'uid', rooftop_uid, 'name', rooftop_name)
        from ops.stock_inbox_part as part join core.rooftop using (rooftop_id)
        where part.file_id = one.file_id and outcome = 'refused' order by rooftop_id)) order by file_id desc)
   from (select * from ops.stock_inbox_file as file
     where file.inbox = wanted.key and state in ('failed', 'gone') and cleared_at is null
       and not ((is_snapshot or file.state = 'gone') and exists (
         select from ops.stock_inbox_file as newer where newer.inbox = file.inbox and newer.file_id > file.file_id and newer.state = 'done'
           and (is_snapshot or newer.file_name = file.file_name)))
       and (file.reason is not null or exists (
         select from ops.stock_inbox_part as part where part.file_id = file.file_id and outcome = 'refused' and not exists (
           select from core.stock_import as later where later.rooftop_id = part.rooftop_id and later.sha256 = part.sha256
             and later.imported_at > part.decided_at)))
     order by file_id desc limit 100) as one) as failed
from unnest(${inboxes.map(({ key }) => key)}::text[], ${inboxes.map(({ expectDaily }) => expectDaily)}::time[],
  ${inboxes.map(({ timezone }) => timezone)}::text[], ${inboxes.map(({ mode }) => mode === 'snapshot')}::boolean[])
  as wanted (key, by_time, zone, is_snapshot)
left join ops.stock_inbox as known on known.inbox = wanted.key
cross join lateral (
  select max(at) as slot from (
    select ((now() at time zone zone)::date - days + by_time) at time zone zone as at from generate_series(0, 1) as days) as day
  where at <= now()) as newest`

function inboxStatus(inbox: Inbox, facts: Facts): InboxStatus {
  const { folder, expectDaily, timezone } = inbox
  const { isKnown, arrivedAt, checkedAt, lateSince, problem } = facts
  const failed = (facts.failed ?? []).map(({ takenAs, isGone, refused, ...file }): OpenFile => {
    const words = refused.map(({ check, ...rooftop }) =>
      refusalWords(check, refusedRequest(inbox, takenAs, rooftop)),
    )
    return {
      ...file,
      reason: file.reason ?? words[0]!.reason,
      commands: words.flatMap(({ command }) => command ?? []),
      path: isGone ? null : join(folder, folders.failed, takenAs),
    }
  })
  const iso = (at: Date | null) => at?.toISOString() ?? null
  return {
    status: worst(facts, failed.length, isKnown),
    ...{ expectDaily, timezone, newestAt: iso(arrivedAt), checkedAt: iso(checkedAt) },
    ...{ lateSince: iso(lateSince), problem, waiting: facts.waiting ?? [], failed },
  }
}

function worst(
  { problem, lateSince }: Facts,
  failed: number,
  isKnown: boolean,
): InboxStatus['status'] {
  if (problem !== null) return 'unusable'
  if (failed > 0) return 'failed'
  if (lateSince !== null) return 'late'
  return isKnown ? 'ok' : 'never'
}

/** Whether its list came in time, and nothing in it needs a person. */
export function isInboxHealthy({ status }: InboxStatus): boolean {
  return status === 'ok' || status === 'never'
}

/** The problems of all drop folders, for alerts, each with a key of its own. */
export function inboxProblems(
  statuses: Readonly<Record<string, InboxStatus>>,
  config: Config,
): readonly { readonly key: string; readonly what: string }[] {
  const inboxes = new Map(listInboxes(config).map((inbox) => [inboxLabel(inbox), inbox]))
  return Object.entries(statuses).flatMap(([label, status]) => [
    ...(status.problem === null
      ? []
      : [
          { key: `inbox/folder/${digest(label)}`, what: `Drop folder ${label}: ${status.problem}` },
        ]),
    ...(status.lateSince === null
      ? []
      : [{ key: `inbox/late/${digest(label)}`, what: lateText(label, status) }]),
    ...[...Map.groupBy(status.failed, ({ alertKey }) => alertKey)].map(([key, files]) => ({
      key,
      what: failedText(label, files, consoleStep(config, inboxes.get(label)!, files[0]!.uploadId)),
    })),
  ])
}

/** A folder may be longer than a key. */
function digest(label: string): string {
  return createHash('sha256').update(label).digest('hex').slice(0, 12)
}

/** `The stock list in … was expected by 07:00 and has not come.` */
export function lateText(label: string, status: InboxStatus): string {
  const { expectDaily, timezone, newestAt, checkedAt, waiting } = status
  const at = (iso: string | null) => (iso === null ? null : timeText(new Date(iso), timezone))
  const isUnwatched = checkedAt === null || Date.now() - Date.parse(checkedAt) > 15 * 60_000
  return [
    `The stock list in ${label} was expected by ${expectDaily} (${timezone}) and has not come;`,
    newestAt === null ? 'none has come yet.' : `the newest came ${at(newestAt)}.`,
    ...(waiting.length === 0 ? [] : [`Not imported yet: ${waiting.slice(0, 3).join(', ')}.`]),
    ...(isUnwatched
      ? [
          `The folder was last checked ${at(checkedAt) ?? 'never'}: is a "forecourt schedule" or "forecourt stock watch" running?`,
        ]
      : []),
  ].join(' ')
}

/** The longest text of an alert. */
const longestText = 1000

/** Characters of the names of an alert; the first is whole. */
const namesLength = 300

/** `a.csv`, `b.csv, a.csv and 3 more`. */
function namesText(names: readonly string[]): string {
  const fits = (at: number) => names.slice(0, at + 1).join(', ').length <= namesLength
  const shown = names.filter((_, at) => at === 0 || fits(at))
  const more = names.length - shown.length
  return `${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`
}

/** What a person does about failed files of one cause, with the command of the newest. The reason is cut, not what follows it. */
function failedText(label: string, files: readonly OpenFile[], inConsole: string | null): string {
  const [{ file, path, reason, commands }] = files as [OpenFile, ...OpenFile[]]
  const names = namesText(files.map((one) => one.file))
  const head =
    files.length === 1
      ? `The stock list ${names} in ${label} was not imported and needs a person.`
      : `The stock lists ${names} in ${label} were not imported and need a person.`
  const rest = [
    ...(path === null ? [] : [`The report is ${path}.report.txt.`]),
    ...(commands[0] === undefined ? [] : [`If the list is right, run: ${commands[0]}`]),
    ...(inConsole === null ? [] : [`Or ${inConsole}`]),
  ].join(' ')
  const [first = ''] = reason.split('\n')
  // The file has another name where it is now, which the reason gives.
  const why = path === null ? first : first.replaceAll(path, file).replaceAll(basename(path), file)
  const room = Math.max(100, longestText - head.length - rest.length - 2)
  const short = shortened(why, room)
  return [head, short, rest].filter((part) => part !== '').join(' ')
}
