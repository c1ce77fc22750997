/** Why a PDF was not taken. `expired`: the link is dead (403, 404 or 410), and a newly signed one may not be. */
export type RefusalCode =
  | 'address'
  | 'expired'
  | 'host'
  | 'network'
  | 'not-a-pdf'
  | 'redirects'
  | 'status'
  | 'time-out'
  | 'too-large'
  | 'truncated'
  | 'web-page'

/** The answer is not accepted into the archive. The message names a host at most, never the link: that is a secret. */
export class PdfRefused extends Error {
  override readonly name = 'PdfRefused'
  readonly code: RefusalCode

  constructor(code: RefusalCode, message: string) {
    super(message)
    this.code = code
  }
}
