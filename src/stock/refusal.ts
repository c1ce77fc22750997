import { basename } from 'node:path'
import { UsageError } from '../errors.ts'
import { shellQuoted } from '../values/shell.ts'
import { mapArguments, possibleAnswers, unsureText } from './csv/map/mapping-text.ts'
import { splitReading } from './csv/map/overrides.ts'
import type { CellIssue } from './csv/map/typing/typed-row.ts'
import type { ListCheck } from './import/list-check.ts'
import type { ImportRequest } from './import/request.ts'
import { guardKinds } from './refusal-kinds.ts'

/** What the words of a refusal name of its import: all that its command line had. */
export type RefusedRequest = Pick<ImportRequest, 'file' | 'input' | 'maps' | 'sheet'> &
  Partial<Pick<ImportRequest, 'encoding' | 'delimiter' | 'dryRun' | 'rejects' | Allowance>> & {
    readonly rooftop: Pick<ImportRequest['rooftop'], 'uid' | 'name'>
  }

type Allowance = 'allowMassRemoval' | 'allowMassChange' | 'allowUnusualValues' | 'allowOlderValues'

/** A list that was not imported. The message is for the command line. */
export class ListRefused extends UsageError {
  readonly check: ListCheck

  constructor(check: ListCheck, request: RefusedRequest) {
    super(refusalText(check, request))
    this.check = check
  }
}

/** Why a list was not imported, and what to do. */
function refusalText(check: ListCheck, request: RefusedRequest): string {
  const { file, rooftop } = request
  const refusal = check.refusals[0]!
  switch (refusal.is) {
    case 'unreadable':
      return refusal.why
    case 'sheets':
      return `${file}: ${refusal.why}. Nothing was imported.`
    case 'columns':
      return [
        `${basename(file)}: nothing was imported, because the meaning of its columns is not certain.`,
        unsureText(check.mapping!),
        'The full command:',
        `  ${importCommand(check, request, confirmingMaps(check, request))}`,
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
        ...(refusal.is === 'removal' && check.mode === 'snapshot'
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
  { mode, only }: ListCheck,
  request: RefusedRequest,
  options: string,
): string {
  const { file, input, rooftop, encoding, delimiter, sheet, rejects } = request
  const values = only === undefined ? [] : only.values.map((value) => `${only.column}=${value}`)
  const allowed = Object.values(guardKinds).filter(
    ({ allows }) => request[allows as Allowance] === true,
  )
  const option = (name: string, value: string | null | undefined) =>
    value == null ? [] : [`--${name} ${shellQuoted(value)}`]
  return [
    'forecourt stock import',
    input ? '-' : shellQuoted(file),
    `--rooftop ${shellQuoted(rooftop.uid)}`,
    ...option('encoding', encoding),
    ...option('delimiter', delimiter === '\t' ? 'tab' : delimiter),
    ...option('sheet', sheet),
    ...(mode === 'delta' ? ['--mode delta'] : []),
    ...values.map((value) => `--only ${shellQuoted(value)}`),
    ...option('rejects', rejects),
    ...(request.dryRun === true ? ['--dry-run'] : []),
    ...allowed.map((kind) => kind.option),
    options,
  ].join(' ')
}

/** The options that confirm a proposed mapping. */
function confirmingMaps({ mapping }: ListCheck, { maps }: RefusedRequest): string {
  const answers = possibleAnswers(mapping!.questions)
  const field = (map: string) => splitReading(map.slice(0, map.indexOf('=')))[0]
  const answered = answers.map(field)
  const wanted = new Set([...maps.filter((map) => !answered.includes(field(map))), ...answers])
  return answers.length > 0 ? mapArguments([...wanted]) : '--map stock_number=<header> (or vin=)'
}

/** The same with its command. */
export function refusalWords(check: ListCheck, request: RefusedRequest) {
  return { reason: refusalText(check, request), command: confirmingCommand(check, request) }
}

/** The command that imports a refused list once a person has confirmed it; null: it has to be exported again. */
export function confirmingCommand(check: ListCheck, request: RefusedRequest): string | null {
  const refusal = check.refusals[0]!
  if (refusal.is === 'sheets')
    return importCommand(check, request, `--sheet ${shellQuoted(refusal.sheets[0]!)}`)
  if (refusal.is === 'columns') {
    const isAnswered = check.mapping!.questions.some(({ maps }) => maps.length > 0)
    return isAnswered ? importCommand(check, request, confirmingMaps(check, request)) : null
  }
  return 'would' in refusal ? importCommand(check, request, guardKinds[refusal.is].option) : null
}
