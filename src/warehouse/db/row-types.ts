import pg from 'pg'

type Parse = (text: string) => unknown

const { builtins } = pg.types
const textArray: number = 1009
const parseTextArray = pg.types.getTypeParser(textArray) as (text: string) => (string | null)[]

// Arrays follow the type of their items; by default pg parses numeric[] as floats and date[] as local midnights.
const parsers = new Map<number, Parse>([
  [builtins.INT8, parseInt8],
  [1016, (text) => parseTextArray(text).map((item) => (item === null ? null : parseInt8(item)))],
  [builtins.DATE, (text) => text],
  [1182, parseTextArray],
  [1231, parseTextArray],
])

/** Parsers of column values: int8 as number where safe (else text), numeric and date as text, timestamptz as Date. For the `types`
 *  option of a pool, so that other users of pg in the process are not affected. */
export const rowTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' ? parsers.get(oid) : undefined) ??
    // biome-ignore format: one call
    pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
}

function parseInt8(text: string): number | string {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : text
}
