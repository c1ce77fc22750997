import { UsageError } from '../../errors.ts'
import { CsvFileError } from '../csv/read/csv-file.ts'
import { SheetChoiceError } from '../workbook/choose-sheet.ts'

/** The errors of reading that callers distinguish, the special ones first. */
const classes = [SheetChoiceError, CsvFileError, UsageError] as const

/** An error as it goes from one thread to another, which loses its class. */
export interface EncodedError {
  /** Index in `classes`; -1: any other. */
  readonly is: number
  readonly message: string
  readonly stack: string | undefined
  readonly fields: Readonly<Record<string, unknown>>
}

export function encodeError(thrown: unknown): EncodedError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const is = classes.findIndex((one) => error instanceof one)
  return { is, message: error.message, stack: error.stack, fields: is < 0 ? {} : { ...error } }
}

export function decodeError({ is, message, stack, fields }: EncodedError): Error {
  const error = Object.assign(new Error(message), fields)
  const known = classes[is]
  if (known) Object.setPrototypeOf(error, known.prototype)
  if (stack !== undefined) error.stack = stack
  return error
}
