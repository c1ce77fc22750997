import { join, resolve } from 'node:path'
import type { InboxConfig } from '../../app/config/inbox.ts'
import type { Config, RooftopConfig } from '../../app/config/read.ts'
import type { Log } from '../../log.ts'
import type { ImportServices } from '../import/request.ts'
import { valueKey } from '../import/row-filter.ts'
import type { RefusedRequest } from '../refusal.ts'

/** A drop folder: which files of it are lists, and whose. */
export interface Inbox {
  /** Its key in the warehouse: folder and pattern. */
  readonly key: string
  /** Absolute. */
  readonly folder: string
  readonly pattern: string
  /** Whether a file name fits the pattern. */
  readonly matches: (name: string) => boolean
  readonly mode: InboxConfig['mode']
  /** Of workbooks; null: the only one with a list. */
  readonly sheet: string | null
  readonly marker: string | null
  readonly settleSeconds: number
  /** How long files stay in done/; null: until a person removes them. */
  readonly keepDays: number | null
  readonly expectDaily: string | null
  /** The zone of `expectDaily`. */
  readonly timezone: string
  /** The only rooftop; null: a column names it. */
  readonly rooftop: RooftopConfig | null
  /** The header of that column. */
  readonly column: string | null
  /** The rooftop that a cell of the column names. */
  readonly rooftopNamed: (cell: string) => RooftopConfig | undefined
  /** Rooftops that have a code of their own: each file should have rows of them. */
  readonly expected: readonly RooftopConfig[]
}

/** What a drop folder uses of the program. */
export interface InboxServices extends Omit<ImportServices, 'beforeCommit'> {
  readonly log: Log
  /** No further file is taken. `signal` ends the import of the present one too. */
  readonly stopping: AbortSignal
  /** The time of this process, for names and reports. */
  readonly now: () => Date
}

/** The folder of files that are being imported, and those of files that are done. */
export const folders = { working: 'working', done: 'done', failed: 'failed' } as const

/** The drop folders of the config. */
export function listInboxes(config: Config): readonly Inbox[] {
  return config.stock.inbox.map((inbox) => createInbox(inbox, config))
}

/** A drop folder of the config. */
export function createInbox(settings: InboxConfig, config: Config): Inbox {
  const { pattern, rooftopColumn, rooftopCodes, mode, sheet, marker, settleSeconds } = settings
  const { keepDays, expectDaily } = settings
  const folder = resolve(config.homeDir, settings.folder)
  const withUid = (uid: string) => config.rooftops.find((one) => one.uid === uid)
  const rooftop = settings.rooftop === null ? null : withUid(settings.rooftop)!
  // A code may be the name of another rooftop: the config decides.
  const byText = new Map([
    ...config.rooftops.map((one) => [valueKey(one.name), one] as const),
    ...config.rooftops.map((one) => [valueKey(one.uid), one] as const),
    ...Object.entries(rooftopCodes).map(([code, uid]) => [valueKey(code), withUid(uid)!] as const),
  ])
  const first = rooftop ?? config.rooftops[0]
  return {
    ...{ key: join(folder, pattern), folder, pattern, matches: matcher(pattern) },
    ...{ mode, sheet, marker, settleSeconds, keepDays, expectDaily },
    timezone: settings.timezone ?? first?.timezone ?? 'UTC',
    ...{ rooftop, column: rooftopColumn, rooftopNamed: (cell) => byText.get(valueKey(cell)) },
    expected: [...new Set(Object.values(rooftopCodes).map((uid) => withUid(uid)!))],
  }
}

/** What messages and commands name of a file that is not imported: where a person will find it, in failed/. */
export function refusedRequest(
  { folder, sheet }: Inbox,
  takenAs: string,
  { uid, name }: RefusedRequest['rooftop'],
): RefusedRequest {
  const file = join(folder, folders.failed, takenAs)
  return { file, ...(sheet === null ? {} : { sheet }), maps: [], rooftop: { uid, name } }
}

/** The folder as people read it: with the pattern, unless that is every file. */
export function inboxLabel({ folder, pattern }: Pick<Inbox, 'folder' | 'pattern'>): string {
  return pattern === '*' ? folder : join(folder, pattern)
}

/** `*` is any text, `?` one character, `{a,b}` one of them; case does not matter. */
function matcher(pattern: string): Inbox['matches'] {
  const parts = pattern.match(/\{[^{}]*\}|./gsu) ?? []
  const whole = new RegExp(`^${parts.map(patternExpression).join('')}$`, 'isu')
  return (name) => whole.test(name)
}

function patternExpression(part: string): string {
  if (part === '*') return '.*'
  if (part === '?') return '.'
  if (part.length === 1 || !part.startsWith('{')) return part.replace(/[.*+?^${}()|[\]\\/]/, '\\$&')
  const names = part.slice(1, -1).split(',')
  return `(?:${names.map((name) => [...name].map(patternExpression).join('')).join('|')})`
}
