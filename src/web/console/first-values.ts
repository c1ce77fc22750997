import { storable } from '../../values/text.ts'

/** The fields of a query string, a form or a path; of a name that is there twice, the first value. A character that Postgres cannot
 *  hold becomes one that is in no name. */
export function firstValues(values: unknown): Record<string, string> {
  const entries = Object.entries((values ?? {}) as Record<string, unknown>)
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      const first: unknown = Array.isArray(value) ? value[0] : value
      return typeof first === 'string' ? [[name, storable(first)]] : []
    }),
  )
}
