import { UsageError } from '../../errors.ts'

/** The reason why a file is unreadable. */
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

/** The whole file is unreadable: exit 2, nothing imported. The message names the reason and what to do. */
export class CsvFileError extends UsageError {
  readonly code: CsvFileErrorCode

  constructor(code: CsvFileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
