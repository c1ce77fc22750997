import { shellQuoted } from '../../../values/shell.ts'
import type { ColumnMapping, Mapping, MappingQuestion, MissingField } from './column-mapping.ts'
import { type Field, isStockField, vitalFields } from './stock-fields.ts'
import { findYearTitle } from './typing/description.ts'

/** What people of the trade call the fields whose own name is a word of this program. */
const names: Readonly<Partial<Record<Field, string>>> = {
  stock_number: 'stock number',
  vin: 'VIN',
  vin_partial: 'end of the VIN',
  adcode: 'catalogue code',
  plate_state: 'state of the plate',
  model_year: 'model year',
  build_date: 'build date',
  compliance_date: 'compliance date',
  registration_date: 'registration date',
  registration_expiry: 'registration expiry',
  title_combined: 'make and model in one text',
  colour_exterior: 'exterior colour',
  colour_interior: 'interior colour',
  colour_combined: 'both colours',
  odometer_unit: 'unit of the odometer',
  price_asking: 'asking price',
  price_type: 'kind of price',
  price_currency: 'currency',
  price_msrp: 'price when new',
  price_wholesale: 'wholesale price',
  days_in_stock: 'days in stock',
  received_date: 'date in stock',
  photo_count: 'number of photos',
  gcc_spec: 'regional specification',
  nvic: 'NVIC',
  redbook_code: 'RedBook code',
  engine_number: 'engine number',
  owners: 'previous owners',
  url: 'web address',
  row_index: 'row number',
}
const sourceTexts: Readonly<Record<NonNullable<ColumnMapping['source']>, string>> = {
  header: 'by its name',
  values: 'by its values',
  remembered: 'as before',
  override: 'set with --map',
}

/** How the columns were read, in words: those that fill the stock, those stored as text, those left out and why. */
export function mappingSummary(
  columns: readonly ColumnMapping[],
  missing: readonly MissingField[],
): string[] {
  const stock = columns.filter(({ field }) => field !== null && isStockField(field))
  const filled = stock.filter(({ field }) => !missing.some((known) => known.field === field))
  const extra = columns.filter(({ field }) => field !== null && !isStockField(field))
  const rest = columns.filter(({ field }) => field === null)
  const title = findYearTitle(columns)
  const none = vitalFields.filter(
    (field) =>
      !columns.some((column) => column.field === field) &&
      !missing.some((known) => known.field === field) &&
      !(field === 'model_year' && title !== null),
  )
  return [
    ...filled.map((column) => `${named(column.field!)}: ${quoted(column)}, ${sourceText(column)}`),
    ...(title === null ? [] : [`${named('model_year')}: out of ${quoted(title)}`]),
    ...none.map((field) => `${named(field)}: no column, as confirmed`),
    ...missingLines(missing),
    ...listed('stored as text', extra, ({ field }) =>
      field === 'status' || field === 'sold' || field === 'available'
        ? `${field}; vehicles marked as sold are not stock on hand`
        : field!,
    ),
    ...listed('left out', rest, ({ evidence }) => evidence.at(-1) ?? 'unknown'),
    ...(missing.length === 0
      ? []
      : [
          'Name a column with --map <field>=<header>, or confirm that there is none with --map <field>=',
        ]),
  ]
}

/** A field in words of the trade. */
export function fieldLabel(field: Field): string {
  return names[field] ?? field
}

function named(field: Field): string {
  return isStockField(field) ? `${fieldLabel(field)} (${field})` : field
}

function quoted({ header, index }: ColumnMapping): string {
  return header === null || header.trim() === '' ? `#${index + 1}` : `"${header.trim()}"`
}

function sourceText({ source, samples }: ColumnMapping): string {
  const text = source === null ? '' : sourceTexts[source]
  return samples.length === 0 ? `${text}; empty in the sample` : text
}

function listed(
  title: string,
  columns: readonly ColumnMapping[],
  why: (column: ColumnMapping) => string,
): string[] {
  const texts = columns.map((column) => `${quoted(column)} (${why(column)})`)
  return texts.length === 0 ? [] : [`${title}: ${texts.join(', ')}`]
}

/** The vital fields that no column fills. */
function missingLines(missing: readonly MissingField[]): string[] {
  return missing.map(({ field, emptyColumn }) =>
    emptyColumn === null
      ? `${named(field)}: NO COLUMN`
      : `${named(field)}: the column "${emptyColumn}" is EMPTY`,
  )
}

/** The mapping for people, one line for each column: position, header, field, confidence, samples. */
export function mappingLines(mapping: Mapping): string[] {
  const rows = mapping.columns.map((column) => [
    `#${column.index + 1}`,
    column.header ?? '',
    column.field ?? '(not mapped)',
    column.field ? `${Math.round(column.confidence * 100)} %` : '',
    column.samples.map((sample) => sample.replaceAll(/\s+/g, ' ').trim()).join(' · '),
  ])
  const widths = [0, 1, 2, 3].map((at) =>
    Math.min(32, Math.max(...rows.map((row) => row[at]!.length), 0)),
  )
  return rows.map((row) =>
    row
      .map((cell, at) => (at < 4 ? cell.slice(0, 32).padEnd(widths[at]!) : cell))
      .join('  ')
      .trimEnd(),
  )
}

/** The message of exit 2: the questions, the proposed mapping, and the arguments that confirm it. */
export function unsureText(mapping: Mapping): string {
  const maps = possibleAnswers(mapping.questions)
  const confirmation =
    maps.length === 0 ? [] : ['', 'If that is right, confirm it with:', `  ${mapArguments(maps)}`]
  return [
    ...mapping.questions.map(questionText),
    '',
    'Proposed columns:',
    ...mappingLines(mapping).map((line) => `  ${line}`),
    ...missingLines(mapping.missing).map((line) => `  ${line}`),
    ...confirmation,
    'Leave a field out with --map <field>= (nothing after the sign). The answer is stored for this rooftop and header.',
  ].join('\n')
}

function questionText({ message, readings = [] }: MappingQuestion): string {
  const answers = readings.map(({ map, meaning }) => `${mapArguments([map])} (${meaning})`)
  return answers.length === 0 ? message : `${message} Answer with ${answers.join(', or ')}.`
}

/** The arguments that answer the questions. One that says how a column is read also says what it holds. */
export function possibleAnswers(questions: Mapping['questions']): readonly string[] {
  const maps = [...new Set(questions.flatMap((doubt) => doubt.maps))]
  const readings = maps.filter((map) => /^\w+:/.test(map)).map((map) => map.split(':', 1)[0])
  return maps.filter((map) => !readings.includes(map.split('=', 1)[0]))
}

/** `--map` arguments, quoted for a shell where necessary. */
export function mapArguments(maps: readonly string[]): string {
  return maps.map((map) => `--map ${shellQuoted(map)}`).join(' ')
}
