import { UsageError } from '../../../errors.ts'
import { nearestName } from '../../../values/nearest-name.ts'
import type { CellReading } from './column-mapping.ts'
import { headerKey } from './header-name.ts'
import { type Field, fieldNamed, fields, nearestField } from './stock-fields.ts'

/** The user's `--map` arguments. */
export interface Overrides {
  /** Field by index of its column. */
  readonly columns: ReadonlyMap<number, Field>
  /** Fields that no column holds, even if a header names them. */
  readonly absent: ReadonlySet<Field>
  /** How the cells of a field are read. */
  readonly readings: ReadonlyMap<Field, readonly CellReading[]>
}

export const noOverrides: Overrides = {
  ...{ columns: new Map(), absent: new Set(), readings: new Map() },
}

/** A field with how its cells are read: `price_asking:decimals`, `model_year:1936+numbers`. */
export function readingName(field: Field, readings: readonly CellReading[] = []): string {
  return readings.length === 0 ? field : `${field}:${readings.join('+')}`
}

/** The parts of such a name. */
export function splitReading(name: string): readonly [field: string, readings: readonly string[]] {
  const [field = '', readings] = name.split(':')
  return [field.trim(), readings === undefined ? [] : readings.trim().split('+')]
}

const known = /^(decimals|thousands|numbers|shown|swapped|unswapped|yearfirst|yearlast|\d{4})$/

/**
 * Reads `--map` arguments: `<field>=<header>`, `<field>=#3` for the third column, `<field>=` for none; `<field>:<reading>=<header>` for
 * cells that can be read in two ways.
 * `names` is null for a file without a header. UsageError: unknown field or header, one field or column twice.
 */
export function parseOverrides(
  texts: readonly string[],
  names: readonly string[] | null,
  width = names?.length ?? 0,
): Overrides {
  const columns = new Map<number, Field>()
  const absent = new Set<Field>()
  const readings = new Map<Field, readonly CellReading[]>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 0)
      throw new UsageError(`--map ${text}: write it as <field>=<header>, as in stock_number=Stock#`)
    const [name, chosen] = splitReading(text.slice(0, at))
    const field = requireField(name)
    const unknown = chosen.find((reading) => !known.test(reading))
    if (unknown !== undefined)
      throw new UsageError(
        `--map ${text}: cells are not read as "${unknown}". The import says which readings it asks for.`,
      )
    if (chosen.length > 0) readings.set(field, chosen)
    if (absent.has(field) || [...columns.values()].includes(field))
      throw new UsageError(`--map names ${field} twice: keep one of the two`)
    const header = text.slice(at + 1).trim()
    if (header === '') absent.add(field)
    else columns.set(freeColumn(header, names, width, columns), field)
  }
  return { columns, absent, readings }
}

function requireField(name: string): Field {
  const field = fieldNamed(name)
  if (field) return field
  const near = nearestField(name)
  throw new UsageError(
    `--map: there is no field "${name}".${near ? ` Did you mean ${near}?` : ''} The fields are: ${fields.join(', ')}`,
  )
}

function freeColumn(
  header: string,
  names: readonly string[] | null,
  width: number,
  taken: ReadonlyMap<number, Field>,
): number {
  const index = findColumn(header, names, width)
  const other = taken.get(index)
  if (other)
    throw new UsageError(`--map gives "${header}" to ${other} already: a column holds one field`)
  return index
}

/** The column with exactly that header, else with the same letters and digits, else `#<position>`. */
function findColumn(header: string, names: readonly string[] | null, width: number): number {
  const exact = findIndexes(names, (name) => name.trim() === header)
  const found =
    exact.length > 0 ? exact : findIndexes(names, (name) => headerKey(name) === headerKey(header))
  const position = /^#(\d{1,5})$/.exec(header)
  if (position && exact.length === 0) return columnPosition(Number(position[1]), width)
  if (found.length === 1) return found[0]!
  if (found.length > 1)
    throw new UsageError(
      `--map: ${found.length} columns are called "${header}". Name one by its position: ${found
        .map((index) => `#${index + 1}`)
        .join(' or ')}`,
    )
  throw new UsageError(unknownHeader(header, names, width))
}

function columnPosition(position: number, width: number): number {
  if (position >= 1 && position <= width) return position - 1
  throw new UsageError(`--map: there is no column #${position}; the file has ${width} columns`)
}

function findIndexes(names: readonly string[] | null, is: (name: string) => boolean): number[] {
  return (names ?? []).flatMap((name, index) => (is(name) ? [index] : []))
}

function unknownHeader(header: string, names: readonly string[] | null, width: number): string {
  if (names === null)
    return `--map: the file has no header row, so there is no "${header}". Name a column by its position: #1 to #${width}`
  const near = nearestName(header, names)
  const known = names.length > 60 ? [...names.slice(0, 60), '…'] : names
  return `--map: no column is called "${header}".${near ? ` Did you mean "${near}"?` : ''} The columns are: ${known.join(', ')}`
}
