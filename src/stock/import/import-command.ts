import type { Mapping } from '../csv/map/column-mapping.ts'
import { answersOf, mapArguments, shellQuoted } from '../csv/map/mapping-text.ts'
import { splitReading } from '../csv/map/overrides.ts'
import { SheetChoiceError } from '../workbook/choose-sheet.ts'
import { ListRefused } from './list-refused.ts'
import type { ImportRequest } from './request.ts'

/** The command line that imports the same list, with these options too. */
export function importCommand(
  { file, input, rooftop, mode, sheet, only }: ImportRequest,
  options = '',
): string {
  const values = only === undefined ? [] : only.values.map((value) => `${only.column}=${value}`)
  return [
    'forecourt stock import',
    input ? '-' : shellQuoted(file),
    `--rooftop ${shellQuoted(rooftop.uid)}`,
    ...(sheet === undefined ? [] : [`--sheet ${shellQuoted(sheet)}`]),
    ...(mode === 'delta' ? ['--mode delta'] : []),
    ...values.map((value) => `--only ${shellQuoted(value)}`),
    ...(options === '' ? [] : [options]),
  ].join(' ')
}

/** The options that confirm a proposed mapping. */
export function confirmingMaps({ questions }: Mapping, { maps }: ImportRequest): string {
  const answers = answersOf(questions)
  const field = (map: string) => splitReading(map.slice(0, map.indexOf('=')))[0]
  const answered = answers.map(field)
  const wanted = new Set([...maps.filter((map) => !answered.includes(field(map))), ...answers])
  return answers.length > 0 ? mapArguments([...wanted]) : '--map stock_number=<header> (or vin=)'
}

const options = {
  removal: '--allow-mass-removal',
  change: '--allow-mass-change',
  values: '--allow-unusual-values',
  newer: '--allow-older-values',
} as const

/** The command that imports a refused list once a person has confirmed it; null: it has to be exported again. */
export function confirmingCommand(request: ImportRequest, error: unknown): string | null {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof SheetChoiceError)
    return importCommand(request, `--sheet ${shellQuoted(cause.sheets[0]!)}`)
  if (!(error instanceof ListRefused)) return null
  const { refusal } = error
  if (refusal.is === 'columns') {
    const isAnswered = refusal.mapping.questions.some(({ maps }) => maps.length > 0)
    return isAnswered ? importCommand(request, confirmingMaps(refusal.mapping, request)) : null
  }
  const option = options[refusal.is as keyof typeof options]
  return option === undefined ? null : importCommand(request, option)
}
