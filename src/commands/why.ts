import { UsageError } from '../errors.ts'
import { readProvenance, type Provenance } from '../pipeline/provenance.ts'
import type { CommandDefinition } from './command.ts'

export const why: CommandDefinition = {
  usage: 'why <EvalID>',
  summary: 'Where a row comes from: row, payload, request, window, run',
  examples: ['forecourt why 12345', 'forecourt why 12345 --json'],
  async run(session, _options, [text]) {
    const evalId = Number(text)
    if (!Number.isSafeInteger(evalId) || evalId <= 0) {
      throw new UsageError(
        `"${String(text)}" is not an EvalID: write the whole number, e.g. "forecourt why 12345".`,
      )
    }
    const warehouse = await session.warehouse('read')
    const found = await readProvenance(warehouse.db, evalId)
    session.result({ evalId, found }, () =>
      found.length === 0
        ? [
            `Evaluation ${evalId} is in no table: it was never listed as completed. "forecourt verify" shows what is covered.`,
          ]
        : found.flatMap((entry) => lines(evalId, entry)),
    )
    return found.length === 0 ? 1 : 0
  },
}

function lines(evalId: number, entry: Provenance): string[] {
  const section = (name: string, facts: readonly (Readonly<Record<string, unknown>> | null)[]) =>
    facts.flatMap((fact) => (fact ? [`  ${name.padEnd(11)}${spell(fact)}`] : []))
  return [
    `Evaluation ${evalId} of ${entry.rooftop.name} (${entry.rooftop.uid})`,
    ...section('row', [entry.row]),
    ...section('version', entry.versions),
    ...section('payload', entry.payloads),
    ...section('price', entry.prices),
    ...section('check', entry.checks),
    ...section('window', [entry.window]),
    ...section('quarantine', entry.quarantine),
    ...section('vanished', [entry.vanished]),
    ...section('run', entry.runs),
  ]
}

function spell(facts: Readonly<Record<string, unknown>>): string {
  return Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(
      ([name, value]) =>
        `${name}=${value instanceof Date ? value.toISOString() : typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
    )
    .join('  ')
}
