import { UsageError } from '../../errors.ts'

export type CsvFileErrorCode =
  | 'unreadable'
  | 'empty'
  | 'workbook'
  | 'archive'
  | 'binary'
  | 'markup'
  | 'undecodable'
  | 'too-many-columns'
  | 'cell-too-long'

/** The whole file cannot be read: exit 2, nothing taken over. The message says what it is and what to do. */
export class CsvFileError extends UsageError {
  readonly code: CsvFileErrorCode

  constructor(code: CsvFileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
