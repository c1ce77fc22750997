import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { sql } from 'kysely'
import { UsageError } from '../../errors.ts'
import { erase as eraseCustomer, severalPeople } from '../../privacy/erase/erase.ts'
import { type FilesRemoved, removeErasedFiles } from '../../privacy/erase/erased-files.ts'
import { type EvaluationName, isClean, type Receipt } from '../../privacy/erase/receipt.ts'
import { requestedTerms, type Subject } from '../../privacy/erase/subject.ts'
import { folders, listInboxes } from '../../stock/folders/inbox.ts'
import { readKnownRooftops } from '../../sync/explain/run-history.ts'
import { shellQuoted } from '../../values/shell.ts'
import { firstText, plural } from '../../values/text.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { storeName } from '../../warehouse/store/open-store.ts'
import { archiveFolder } from '../../web/archive/archive.ts'
import { labelRooftops, matchRooftop } from '../config/choose-rooftops.ts'
import type { Config } from '../config/read.ts'
import type { RunCommand } from './command.ts'
import { parseId } from './option-values.ts'
import { requester } from './requester.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

export const erase: RunCommand = async (session, options) => {
  const { config } = session
  const given = readSubject(options)
  requestedTerms(given)
  const isDryRun = options['dryRun'] === true
  const mustAsk = !isDryRun && options['yes'] !== true
  if (mustAsk) requireTerminal(session)
  const { pool, db } = await session.warehouse('write')
  const subject = await withKnownRooftop(db, given, config)
  const reason = typeof options['reason'] === 'string' ? options['reason'] : null
  const requestedBy = requester()
  const allPeople = options['allPeople'] === true
  const request = { subject, reason, requestedBy, allPeople }
  const run = async (dryRun: boolean): Promise<Receipt> =>
    await eraseCustomer(pool, config.wire.appraisal, { ...request, dryRun })
  if (isDryRun) {
    const receipt = await run(true)
    const lakes = await listLakes(db, config)
    session.result({ dryRun: true, ...receipt, ...outside(config, lakes) }, () => [
      ...receiptLines(byLabel(config, receipt), null, allPeople),
      ...outsideLines(config, lakes),
    ])
    return 0
  }
  if (
    mustAsk &&
    !(await isConfirmed(session, byLabel(config, await run(true)), subject, allPeople))
  ) {
    session.result({ erased: false }, () => ['Nothing was erased.'])
    return 0
  }
  const receipt = await run(false)
  const files = await removeErasedFiles(db, archiveFolder(config))
  const lakes = await listLakes(db, config)
  const document = {
    ...{ dryRun: false, ...receipt, filesPending: files.pending },
    ...outside(config, lakes),
  }
  session.result(document, () => [
    ...receiptLines(byLabel(config, receipt), files, allPeople),
    ...outsideLines(config, lakes),
  ])
  return isClean(receipt) && files.pending === 0 ? 0 : 1
}

function readSubject(options: Record<string, unknown>): Subject {
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
  const problem = `"${value}" is not an EvalID: write the whole number, e.g. "forecourt erase --eval 12345".`
  return { kind, evalId: parseId(value, problem), rooftopUid: rooftop }
}

/** The same with the uid of the rooftop that is named, also of one that has left the config: the customer may be of it. */
async function withKnownRooftop(
  db: Db,
  subject: Subject,
  { rooftops }: Pick<Config, 'rooftops'>,
): Promise<Subject> {
  if (subject.kind !== 'eval' || subject.rooftopUid === null) return subject
  const text = subject.rooftopUid
  // One that has left may have the name of one that took its place.
  const exact = rooftops.filter(({ uid, name }) => uid === text || name === text)
  if (exact.length === 1) return { ...subject, rooftopUid: exact[0]!.uid }
  const configured = new Set(rooftops.map(({ uid }) => uid))
  const retired = (await readKnownRooftops(db)).filter(({ uid }) => !configured.has(uid))
  const found = matchRooftop(text, [...rooftops, ...retired], 'in the config or the warehouse')
  return { ...subject, rooftopUid: found.uid }
}

function requireTerminal({ io, json }: Session): void {
  if (io.stderr.isTTY === true && process.stdin.isTTY === true && !json) return
  throw new UsageError(
    'Erasing cannot be undone: nothing was erased. Add --yes to do it, or --dry-run to see what it would touch.',
  )
}

/** Shows what would be erased, and asks. UsageError without a question when nothing would be erased because several people share the
 *  contact. */
async function isConfirmed(
  { io }: Session,
  receipt: Receipt,
  subject: Subject,
  allPeople: boolean,
): Promise<boolean> {
  const isRefused = receipt.people.length > 1 && !allPeople
  const lines = isRefused ? peopleLines(receipt) : receiptLines(receipt, null, allPeople)
  io.stderr.write(`${lines.join('\n')}\n`)
  if (isRefused) throw severalPeople(subject, receipt.people)
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

/** The lake of the config, and those that this warehouse was exported to. */
async function listLakes(db: Db, config: Config): Promise<readonly string[]> {
  const { rows } = await sql<{ lake: string }>`select lake from ops.lake order by lake`.execute(db)
  const exported = rows.map(({ lake }) => lake)
  const configured = configuredLake(config)
  return configured === null ? exported : [...new Set([configured, ...exported])]
}

function configuredLake({ lake, homeDir }: Config): string | null {
  return lake.to === null ? null : storeName(lake.to, homeDir)
}

/** What the erasure does not reach: lists as they came, which nothing shows whose name they have, and lakes until their next export. */
function outside(config: Config, lakes: readonly string[]) {
  const { done, failed } = folders
  const notSearched = dropFolders(config).flatMap((folder) => [
    join(folder, done),
    join(folder, failed),
  ])
  return { notSearched, untilNextExport: lakes }
}

function dropFolders(config: Config): string[] {
  return [...new Set(listInboxes(config).map(({ folder }) => folder))]
}

function outsideLines(config: Config, lakes: readonly string[]): string[] {
  const dropped = dropFolders(config)
  const configured = configuredLake(config)
  return [
    ...(dropped.length === 0
      ? []
      : [
          `Not searched: the stock lists in done/ and failed/ of ${dropped.join(', ')}. Remove those that name the customer.`,
        ]),
    ...lakes.map(
      (lake) =>
        `The lake ${lake} may name the customer until its next export, which deletes its earlier versions: run "forecourt lake export${lake === configured ? '' : ` --to ${shellQuoted(lake)}`}".`,
    ),
  ]
}

function receiptLines(receipt: Receipt, files: FilesRemoved | null, allPeople: boolean): string[] {
  const { evaluations, mentionedIn, tables, suppressed } = receipt
  const isPlan = receipt.erasureId === null
  const before = receipt.erasedBefore
  const counts = Object.entries(tables).map(([name, rows]) => [name, String(rows)])
  return [
    ...(receipt.matched === 0 ? [notFoundLine(receipt)] : []),
    headLine(receipt, allPeople),
    ...(before === null ? [] : [`It was erased before: erasure ${before}.`]),
    ...peopleLines(receipt),
    evaluations.length === 0
      ? 'No evaluation has it.'
      : `Evaluations of the customer: ${evaluationNames(evaluations)}.`,
    ...(mentionedIn.length === 0 ? [] : [`Also named in: ${evaluationNames(mentionedIn)}.`]),
    ...changedLines(counts, isPlan),
    ...filesLine(receipt, files),
    suppressionLine(suppressed, isPlan),
    ...othersLine(receipt),
    rescanLine(receipt, isPlan),
    `Backups of the database made before ${isPlan ? 'that would' : 'now'} still hold the customer: see src/privacy/erase/README.md.`,
  ]
}

function changedLines(counts: readonly string[][], isPlan: boolean): string[] {
  if (counts.length === 0) return [isPlan ? 'No row would change.' : 'No row had to change.']
  return table(['table', isPlan ? 'rows that would change' : 'rows changed'], counts)
}

function suppressionLine(
  { evaluations, contacts }: Receipt['suppressed'],
  isPlan: boolean,
): string {
  const entries = `${plural(evaluations, 'evaluation')} and ${plural(contacts, 'contact')}`
  return isPlan
    ? `It would add ${entries} to the suppression list; no later load would bring them back.`
    : `Suppression list: ${entries} added; no later load brings them back.`
}

function rescanLine(receipt: Receipt, isPlan: boolean): string {
  const { tables, left } = receipt.rescan
  const clean = isClean(receipt)
  const where = clean ? '' : ` in ${countsText(left)}. See src/privacy/erase/README.md.`
  if (isPlan)
    return clean
      ? `Nothing of the customer would be left in the ${tables} tables.`
      : `Of ${tables} tables, some WOULD STILL NAME the customer:${where}`
  return `Searched ${tables} tables again: ${clean ? 'nothing of the customer is left.' : `STILL NAMED${where}`}`
}

function headLine(receipt: Receipt, allPeople: boolean): string {
  const { erasureId, subject, people } = receipt
  const contact = `${subject.kind} ${subject.masked}`
  if (erasureId !== null)
    return `Erasure ${erasureId}: ${contact}, at ${receipt.at} by ${receipt.requestedBy}.`
  if (people.length > 1 && !allPeople)
    return `${people.length} people share the ${contact}: this command would erase no one. With --all-people it would do what follows; --eval <id> erases one person. Nothing was changed.`
  return `Dry run: erasing ${contact} would do this; nothing was changed.`
}

function notFoundLine({ subject, erasureId }: Receipt): string {
  const list =
    erasureId === null
      ? 'it would be put on the suppression list'
      : 'it is on the suppression list now'
  return `NOT FOUND: no evaluation and no text of the warehouse has the ${subject.kind} ${subject.masked}; ${list}. Is it written as the customer gave it?`
}

function peopleLines({ people, subject }: Receipt): string[] {
  if (people.length < 2) return []
  const lines = people.map((names, index) => `  ${index + 1}: ${evaluationNames(names)}`)
  const shared = `${people.length} PEOPLE with different names have this ${subject.kind}:`
  return [shared, ...lines]
}

function filesLine({ files }: Receipt, done: FilesRemoved | null): string[] {
  if (done === null)
    return files === 0 ? [] : [`It would remove ${plural(files, 'file')} of the archive.`]
  const removed =
    done.removed === 0 ? [] : [`${plural(done.removed, 'file')} removed from the archive.`]
  if (done.pending === 0) return removed
  return [
    ...removed,
    `Still in the archive: ${plural(done.pending, 'file')} (${done.reason ?? 'not removed'}). The next "forecourt erase" or retention run removes them.`,
  ]
}

function othersLine({ alsoCarriedBy, erasureId }: Receipt): string[] {
  const count = alsoCarriedBy.length
  if (count === 0) return []
  return [
    `${erasureId === null ? 'It would leave' : 'Left as before:'} ${plural(count, 'other evaluation')} that ${count === 1 ? 'shares' : 'share'} only a name, phone or address with this customer: ${evaluationNames(alsoCarriedBy)}. If it is the same person, run "forecourt erase --eval <id>".`,
  ]
}

function evaluationNames(names: readonly EvaluationName[]): string {
  return firstText(
    names.map(({ rooftop, evalId }) => `${evalId} (${rooftop})`),
    20,
  )
}

function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, rows]) => `${name} (${rows})`)
    .join(', ')
}
