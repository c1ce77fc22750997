import { basename } from 'node:path'
import { UsageError } from '../errors.ts'
import type { Mapping } from './csv/map/column-mapping.ts'
import { mapArguments, possibleAnswers, shellQuoted, unsureText } from './csv/map/mapping-text.ts'
import { splitReading } from './csv/map/overrides.ts'
import type { CellIssue } from './csv/map/typing/typed-row.ts'
import type { ImportRequest } from './import/request.ts'
import { type GuardRefusal, guardKinds, type Refusal } from './refusal-kinds.ts'
import { SheetChoiceError } from './workbook/choose-sheet.ts'

/** A list that was not imported. The message is for the command line. */
export class ListRefused extends UsageError {
  readonly refusal: Refusal

  constructor(refusal: Refusal, request: ImportRequest) {
    super(refusalText(refusal, request))
    this.refusal = refusal
  }
}

function refusalText(refusal: Refusal, request: ImportRequest): string {
  const { file, mode, rooftop } = request
  switch (refusal.is) {
    case 'columns':
      return [
        `${basename(file)}: nothing was imported, because the meaning of its columns is not certain.`,
        unsureText(refusal.mapping),
        'The full command:',
        `  ${importCommand(request, confirmingMaps(refusal.mapping, request))}`,
      ].join('\n')
    case 'cut':
      return `${file}: ${refusal.why}. Nothing was imported, because missing vehicles would count as sold. To import the rows that exist, add --mode delta.`
    case 'nothing-valid':
      return [
        `${file}: ${refusal.why}, so nothing was imported, and the stock of ${rooftop.name} is unchanged. The first errors:`,
        ...refusal.errors.map(issueLine),
      ].join('\n')
    default: {
      const { question, otherwise, option } = guardKinds[refusal.is]
      return [
        `${file} ${refusal.would}. Nothing was imported. ${question}`,
        ...(refusal.advice === undefined ? [] : [`${refusal.advice}.`]),
        ...(refusal.is === 'removal' && mode === 'snapshot'
          ? ['If it is part of the stock, add --mode delta.']
          : []),
        `${otherwise} add ${option}.`,
      ].join(' ')
    }
  }
}

/** `line 12, Price "abc": this is not … (type-error)` */
export function issueLine({ line, column, text, hint, advice, code }: CellIssue): string {
  const place = [line === null ? '' : `line ${line}`, column ?? ''].filter((part) => part !== '')
  const shown = text === '' ? '' : ` "${text.replaceAll(/\s+/g, ' ').slice(0, 60)}"`
  const head = place.join(', ') + shown
  const what = advice === undefined ? hint : `${hint}; ${advice}`
  return `${head === '' ? '' : `${head}: `}${what} (${code})`
}

/** The command line that imports the same list, with these options too. */
function importCommand(
  { file, input, rooftop, mode, sheet, only }: ImportRequest,
  options: string,
): string {
  const values = only === undefined ? [] : only.values.map((value) => `${only.column}=${value}`)
  return [
    'forecourt stock import',
    input ? '-' : shellQuoted(file),
    `--rooftop ${shellQuoted(rooftop.uid)}`,
    ...(sheet === undefined ? [] : [`--sheet ${shellQuoted(sheet)}`]),
    ...(mode === 'delta' ? ['--mode delta'] : []),
    ...values.map((value) => `--only ${shellQuoted(value)}`),
    options,
  ].join(' ')
}

/** The options that confirm a proposed mapping. */
function confirmingMaps({ questions }: Mapping, { maps }: ImportRequest): string {
  const answers = possibleAnswers(questions)
  const field = (map: string) => splitReading(map.slice(0, map.indexOf('=')))[0]
  const answered = answers.map(field)
  const wanted = new Set([...maps.filter((map) => !answered.includes(field(map))), ...answers])
  return answers.length > 0 ? mapArguments([...wanted]) : '--map stock_number=<header> (or vin=)'
}

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
  return refusal.is in guardKinds
    ? importCommand(request, guardKinds[refusal.is as GuardRefusal['is']].option)
    : null
}
