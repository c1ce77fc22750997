import { UsageError } from '../errors.ts'

/** The field delimiter that `--delimiter` names. */
export function parseDelimiter(text: string): string {
  const delimiter = text === 'tab' || text === '\\t' ? '\t' : text
  if ([',', ';', '|', '\t'].includes(delimiter)) return delimiter
  throw new UsageError(`--delimiter "${text}" is none of "," ";" "|" and tab.`)
}
