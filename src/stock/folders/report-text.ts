import { basename } from 'node:path'
import { rooftopLabel } from '../../app/config/choose-rooftops.ts'
import { plural } from '../../values/text.ts'
import { mappingSummary } from '../csv/map/mapping-text.ts'
import { issueLine } from '../refusal.ts'
import { type FileOutcome, type PartImport, type PartOutcome, shownIssues } from './file-outcome.ts'
import { folders, type Inbox } from './inbox.ts'

/** What the report of a file is written from. */
export interface ReportSource {
  readonly inbox: Inbox
  readonly name: string
  readonly seenAt: Date
  readonly state: 'done' | 'failed'
  /** Why the whole file was refused. */
  readonly reason: string | null
  readonly outcome: FileOutcome
  readonly unknown: ReadonlyMap<string, number>
  /** Files beside the report: the rejected rows by rooftop, and those of unknown rooftops. */
  readonly rejects: ReadonlyMap<string, string>
  readonly unknownFile: string | null
  /** What a person does instead in the console, as the end of a sentence; null: there is none. */
  readonly inConsole: string | null
}

const shownValues = 20

/** The report of a file: for a person who knows the dealership and not this program. */
export function reportText(source: ReportSource): string {
  const { name, inbox, seenAt, state, reason, outcome } = source
  const lines = [
    `Report on the stock list "${name}"`,
    '',
    `It came ${timeText(seenAt, inbox.timezone)} (${inbox.timezone}).`,
    headline(source),
    '',
    ...(reason === null ? [] : [...wholeFile(source, reason), '']),
    ...outcome.parts.flatMap((part) => [...partLines(part, source), '']),
    ...unknownLines(source),
    ...absentLines(outcome),
    state === 'done'
      ? `The list itself is beside this report, unchanged.`
      : `The list itself is beside this report, unchanged. Once it is dealt with, remove both from the folder ${folders.failed}.`,
  ]
  return `${lines.join('\n')}\n`
}

function headline({ outcome: { parts }, state, unknown }: ReportSource): string {
  if (state === 'failed' && !parts.some((part) => part.outcome !== 'refused'))
    return 'Result: NOT IMPORTED. The stock is as it was before.'
  if (state === 'failed') return 'Result: imported in part. Some of it needs a person: see below.'
  const rejected = parts.reduce((sum, part) => sum + (part.import?.rejected ?? 0), 0)
  const isKnown = parts.every((part) => part.outcome === 'already-imported')
  if (isKnown) return 'Result: already imported. Nothing was changed.'
  return rejected + unknown.size > 0 ? 'Result: imported, but not every row.' : 'Result: imported.'
}

function wholeFile({ inbox }: ReportSource, reason: string): string[] {
  return [
    ...reason.split('\n'),
    '',
    `What to do: correct the cause, export the list again, and drop it into ${inbox.folder}.`,
  ]
}

function partLines(part: PartOutcome, source: ReportSource): string[] {
  const lines =
    part.import === null ? refusedLines(part, source) : importLines(part, part.import, source)
  return [rooftopLabel(part), ...lines.map((line) => (line === '' ? '' : `  ${line}`))]
}

function refusedLines({ reason, command }: PartOutcome, source: ReportSource): string[] {
  const { inbox, inConsole } = source
  const again = `export the list again and drop it into ${inbox.folder}`
  return [
    'NOT IMPORTED. The stock is as it was before. The reason:',
    ...(reason ?? 'unknown').split('\n').map((line) => `  ${line}`),
    '',
    ...(command === null
      ? [`What to do: correct the cause, ${again}.`]
      : [
          'What to do: if the list is right, confirm it with this command:',
          `  ${command}`,
          ...(inConsole === null ? [] : [`or ${inConsole}`]),
          `If the list is wrong, ${again}.`,
        ]),
  ]
}

function importLines(part: PartOutcome, done: PartImport, source: ReportSource): string[] {
  const { importId, importedAt, records, accepted, rejected, collapsed, skipped } = done
  const { added, updated, unchanged, removed, reappeared, mapping, warnings } = done
  if (part.outcome === 'already-imported')
    return [
      `Already imported: import ${importId} of ${timeText(importedAt, source.inbox.timezone)} had the same content, and no other list came after it.`,
    ]
  const counts = [
    `${accepted} accepted`,
    `${rejected} rejected`,
    ...(collapsed > 0 ? [`${collapsed} that repeat another row`] : []),
    ...(skipped > 0 ? [`${skipped} that are not vehicles in stock`] : []),
  ]
  return [
    `Import ${importId}. It has ${plural(records, 'row')}: ${counts.join(', ')}.`,
    `Vehicles: ${added} new, ${updated} changed, ${unchanged} as before, ${reappeared} back in stock, ${removed} no longer in the list.`,
    ...rejectedLines(part, done, source),
    ...section('Rows that are not vehicles in stock:', notVehicleLines(done)),
    ...section('Notes on the list:', warnings.map(issueLine)),
    ...section('Rows that were imported with a doubt:', doubtLines(done)),
    ...section('How its columns were read:', columnLines(mapping)),
  ]
}

function notVehicleLines({ notVehicles, skipped }: PartImport): string[] {
  const isMore = notVehicles.length === shownIssues && skipped > shownIssues
  return [
    ...notVehicles.map(issueLine),
    ...(isMore ? [`… of ${plural(skipped, 'row')} in all`] : []),
  ]
}

function doubtLines({ doubts }: PartImport): string[] {
  const isMore = doubts.length === shownIssues
  return [...doubts.map(issueLine), ...(isMore ? ['… and perhaps more'] : [])]
}

/** Whether a person confirmed that there is no such column is not stored with the import. */
function columnLines(mapping: PartImport['mapping']): string[] {
  return mappingSummary(mapping, []).map((line) =>
    line.replace(': no column, as confirmed', ': no column'),
  )
}

function rejectedLines({ uid }: PartOutcome, done: PartImport, source: ReportSource): string[] {
  if (done.rejected === 0) return []
  const { errors, rejected } = done
  const file = source.rejects.get(uid)
  const more = rejected > errors.length ? [`… and more: ${rejected} rows in all`] : []
  const advice =
    file === undefined
      ? []
      : [
          `All of them are in the file ${basename(file)}: correct them there, and drop that file into ${dropPlace(file, source.inbox)}.`,
        ]
  return section('Rejected rows:', [...errors.map(issueLine), ...more, ...advice])
}

function unknownLines({ unknown, unknownFile, inbox }: ReportSource): string[] {
  if (unknown.size === 0) return []
  const values = [...unknown].slice(0, shownValues)
  const more = unknown.size > shownValues ? [`  … and ${unknown.size - shownValues} more`] : []
  return [
    `Rows of unknown rooftops, which were not imported (column "${inbox.column}"):`,
    ...values.map(
      ([value, count]) => `  ${value === '' ? '(empty)' : `"${value}"`}: ${plural(count, 'row')}`,
    ),
    ...more,
    ...(unknownFile === null ? [] : [`  All of them are in the file ${basename(unknownFile)}.`]),
    '  What to do: add the code under stock.inbox, rooftopCodes, restart "forecourt schedule" or "forecourt stock watch", and drop the file again;',
    ...(unknownFile === null
      ? []
      : [`  or correct the cells and drop that file into ${dropPlace(unknownFile, inbox)}.`]),
    '',
  ]
}

/** Where a file that is beside the report is dropped, and how the folder knows it: its name may not fit the pattern. */
function dropPlace(file: string, { folder, pattern, matches, marker }: Inbox): string {
  return [
    folder,
    ...(matches(basename(file)) ? [] : [`under a name that fits ${pattern}`]),
    ...(marker === null ? [] : [`with a file <its name>${marker} beside it`]),
  ].join(' ')
}

function absentLines({ absent }: FileOutcome): string[] {
  if (absent.length === 0) return []
  return [
    `Not in this list: ${absent.join(', ')}. Their stock is as it was before: a rooftop that a list does not name is never emptied.`,
    '',
  ]
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${line}`)]
}

/** `2026-11-23 07:02`, in the zone. */
export function timeText(at: Date, timeZone: string): string {
  const format = { dateStyle: 'short', timeStyle: 'short', timeZone } as const
  return new Intl.DateTimeFormat('sv-SE', format).format(at)
}
