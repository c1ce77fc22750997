import { hostname, userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { archiveFolder } from '../archive/archive.ts'
import { erase as eraseCustomer } from '../erasure/erase.ts'
import { type FilesRemoved, removeErasedFiles } from '../erasure/erased-files.ts'
import { type EvaluationName, isClean, type Receipt } from '../erasure/receipt.ts'
import { requestedTerms, type Subject } from '../erasure/subject.ts'
import type { Config } from '../config.ts'
import { UsageError } from '../errors.ts'
import { labelRooftops } from '../pipeline/match-rooftop.ts'
import { chooseRooftops } from '../pipeline/rooftops.ts'
import type { RunCommand } from './command.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

export const erase: RunCommand = async (session, options) => {
  const { config } = session
  const subject = subjectOf(config, options)
  requestedTerms(subject)
  const isDryRun = options['dryRun'] === true
  const mustAsk = !isDryRun && options['yes'] !== true
  if (mustAsk) requireTerminal(session)
  const { pool, db } = await session.warehouse('write')
  const reason = typeof options['reason'] === 'string' ? options['reason'] : null
  const requestedBy = `${userInfo().username}@${hostname()}`
  const allPeople = options['allPeople'] === true
  const request = { subject, reason, requestedBy, allPeople }
  const run = async (dryRun: boolean): Promise<Receipt> =>
    await eraseCustomer(pool, config.wire.appraisal, { ...request, dryRun })
  if (isDryRun) {
    const receipt = await run(true)
    session.result({ dryRun: true, ...receipt }, () => linesOf(byLabel(config, receipt), null))
    return 0
  }
  if (mustAsk && !(await isConfirmed(session, await run(true)))) {
    session.result({ erased: false }, () => ['Nothing was erased.'])
    return 0
  }
  const receipt = await run(false)
  const files = await removeErasedFiles(db, archiveFolder(config))
  const document = { dryRun: false, ...receipt, filesPending: files.pending }
  session.result(document, () => linesOf(byLabel(config, receipt), files))
  return isClean(receipt) && files.pending === 0 ? 0 : 1
}

function subjectOf(config: Config, options: Record<string, unknown>): Subject {
  const kinds = (['email', 'phone', 'eval'] as const).filter((kind) => options[kind] !== undefined)
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1)
    throw new UsageError('Name the customer to erase with one of --email, --phone and --eval.')
  const value = String(options[kind])
  const rooftop = typeof options['rooftop'] === 'string' ? options['rooftop'] : null
  if (kind !== 'eval') {
    if (rooftop === null) return { kind, value }
    throw new UsageError(`--rooftop goes with --eval: --${kind} erases at every rooftop.`)
  }
  const evalId = Number(value)
  if (!Number.isSafeInteger(evalId) || evalId <= 0)
    throw new UsageError(
      `"${value}" is not an EvalID: write the whole number, e.g. "forecourt erase --eval 12345".`,
    )
  const rooftopUid = rooftop === null ? null : chooseRooftops(config, [rooftop])[0]!.uid
  return { kind, evalId, rooftopUid }
}

function requireTerminal({ io, json }: Session): void {
  if (io.stderr.isTTY === true && process.stdin.isTTY === true && !json) return
  throw new UsageError(
    'Erasing cannot be undone: nothing was erased. Add --yes to do it, or --dry-run to see what it would touch.',
  )
}

async function isConfirmed({ io, config }: Session, receipt: Receipt): Promise<boolean> {
  io.stderr.write(`${linesOf(byLabel(config, receipt), null).join('\n')}\n`)
  const terminal = createInterface({ input: process.stdin, output: io.stderr })
  try {
    const answer = await terminal.question('Erase? It cannot be undone. Type "erase" to do it: ', {
      signal: io.signal,
    })
    return answer.trim().toLowerCase() === 'erase'
  } finally {
    terminal.close()
  }
}

/** For a person: rooftops by name and uid. */
function byLabel({ rooftops }: Config, receipt: Receipt): Receipt {
  const label = labelRooftops(rooftops)
  const named = (names: readonly EvaluationName[]) =>
    names.map((name) => ({ ...name, rooftop: label(name.rooftop) }))
  const { people, evaluations, mentionedIn, alsoCarriedBy } = receipt
  return {
    ...receipt,
    people: people.map(named),
    evaluations: named(evaluations),
    mentionedIn: named(mentionedIn),
    alsoCarriedBy: named(alsoCarriedBy),
  }
}

function linesOf(receipt: Receipt, files: FilesRemoved | null): string[] {
  const { erasureId, subject, evaluations, mentionedIn, tables, suppressed, rescan } = receipt
  const head =
    erasureId === null
      ? `Dry run: erasing ${subject.kind} ${subject.masked} would do this; nothing was changed.`
      : `Erasure ${erasureId}: ${subject.kind} ${subject.masked}, at ${receipt.at} by ${receipt.requestedBy}.`
  const before = receipt.erasedBefore
  const counts = Object.entries(tables).map(([name, rows]) => [name, String(rows)])
  return [
    ...(receipt.matched === 0 ? [notFoundLine(receipt)] : []),
    head,
    ...(before === null ? [] : [`It was erased before: erasure ${before}.`]),
    ...peopleLines(receipt),
    evaluations.length === 0
      ? 'No evaluation has it.'
      : `Evaluations of the customer: ${namesOf(evaluations)}.`,
    ...(mentionedIn.length === 0 ? [] : [`Also named in: ${namesOf(mentionedIn)}.`]),
    ...(counts.length === 0 ? ['No row had to change.'] : table(['table', 'rows'], counts)),
    ...filesLine(receipt, files),
    `Suppression list: ${suppressed.evaluations} evaluations and ${suppressed.contacts} contacts added; no later load brings them back.`,
    ...othersLine(receipt),
    isClean(receipt)
      ? `Searched ${rescan.tables} tables again: none is left.`
      : `Searched ${rescan.tables} tables again: STILL NAMED in ${countsOf(rescan.left)}. See "Personal data" in the README.`,
    'Backups of the database made before now still hold the customer: see "Personal data" in the README.',
  ]
}

function notFoundLine({ subject, erasureId }: Receipt): string {
  const list =
    erasureId === null
      ? 'it would be put on the suppression list'
      : 'it is on the suppression list now'
  return `NOT FOUND: no evaluation and no text of the warehouse has the ${subject.kind} ${subject.masked}; ${list}. Is it written as the customer gave it?`
}

function peopleLines({ people, subject, erasureId }: Receipt): string[] {
  if (people.length < 2) return []
  const lines = people.map((names, index) => `  ${index + 1}: ${namesOf(names)}`)
  const shared = `${people.length} PEOPLE with different names have this ${subject.kind}:`
  const advice =
    erasureId === null ? ['Erasing all of them takes --all-people; --eval <id> erases one.'] : []
  return [shared, ...lines, ...advice]
}

function filesLine({ files }: Receipt, done: FilesRemoved | null): string[] {
  if (done === null) return files === 0 ? [] : [`${files} files of the archive go with it.`]
  const removed = done.removed === 0 ? [] : [`${done.removed} files removed from the archive.`]
  if (done.pending === 0) return removed
  return [
    ...removed,
    `${done.pending} files are still in the archive (${done.reason ?? 'not removed'}): the next "forecourt erase" or retention run removes them.`,
  ]
}

function othersLine({ alsoCarriedBy }: Receipt): string[] {
  if (alsoCarriedBy.length === 0) return []
  return [
    `Left alone, since their contact is another: ${namesOf(alsoCarriedBy)} have the same name, phone or address. Is it the same person? "forecourt erase --eval <id>".`,
  ]
}

function namesOf(names: readonly EvaluationName[]): string {
  const shown = names.slice(0, 20).map(({ rooftop, evalId }) => `${evalId} (${rooftop})`)
  const more = names.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}

function countsOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, rows]) => `${name} (${rows})`)
    .join(', ')
}
