import { allStreams } from '../../streams/all.ts'
import { evaluationRecords } from '../../streams/evaluations/evaluation-records.ts'
import { type Provenance, readProvenance } from '../../sync/explain/provenance.ts'
import { readingNotes } from '../../sync/explain/reading-notes.ts'
import { findRooftops } from '../../sync/run/rooftops.ts'
import { utcText } from '../../values/instant.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import type { RunCommand } from './command.ts'
import { parseId } from './option-values.ts'
import { wrap } from './wrap.ts'

export const why: RunCommand = async (session, _options, [text]) => {
  const evalId = parseId(
    text,
    `"${String(text)}" is not an EvalID: write the whole number, e.g. "forecourt why 12345".`,
  )
  const { db } = await session.warehouse('read')
  const { config } = session
  const now = await readSourceNow(db)
  const found = await readProvenance(db, evalId, {
    config,
    streams: allStreams,
    stream: evaluationRecords,
    rooftops: await findRooftops(db, config.rooftops),
    now,
  })
  session.result({ evalId, found }, () =>
    found.length === 0
      ? [
          ...wrap(`Evaluation ${evalId} is in no table: it was not loaded.`),
          ...wrap(
            'It may not be completed yet, be at a rooftop that is not in the config, or be from before sync.start, or its window failed.',
          ),
          ...wrap(
            '"forecourt status" shows what is covered and missing, "forecourt runs show <id>" what failed.',
          ),
        ]
      : found.flatMap((entry) => lines(evalId, entry, now)),
  )
  return found.length === 0 ? 1 : 0
}

function lines(evalId: number, entry: Provenance, now: Date): string[] {
  const section = (name: string, facts: readonly (Readonly<Record<string, unknown>> | null)[]) =>
    facts.flatMap((fact) => (fact === null ? [] : [`  ${name}`, ...factLines(fact)]))
  return [
    ...wrap(`Evaluation ${evalId} of ${entry.rooftop.name} (${entry.rooftop.uid})`),
    ...section('row', [entry.row]),
    ...section('version', entry.versions),
    ...section('payload', entry.payloads),
    ...section('price', entry.prices),
    ...section('check', entry.checks),
    ...section('watch', entry.watches),
    ...section('webhook', entry.webhooks),
    ...section('window', [entry.window]),
    ...section('quarantine', entry.quarantine),
    ...section('vanished', [entry.vanished]),
    ...section('run', entry.runs),
    ...readingNotes(entry, { now, timeText: utcText }).flatMap(({ name, text }) =>
      wrap(`${name}: ${text}`, { indent: 2, hang: 4 }),
    ),
  ]
}

/** A fact a line. */
function factLines(facts: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(facts)
    .filter(([, value]) => value !== null)
    .flatMap(([name, value]) => wrap(`${name}: ${valueText(value)}`, { indent: 4, hang: 6 }))
}

function valueText(value: unknown): string {
  if (value instanceof Date) return utcText(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
