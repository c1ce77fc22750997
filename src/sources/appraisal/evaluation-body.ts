import { type AnswerHeaders, BodyFault, requireJson } from '../http-body.ts'
import { type AnswerContext, bodyError } from '../http-fault.ts'

/** A `/geteval` answer that stayed cut off or broken: the cause of the SyncError `skip`, so that its text can be quarantined. */
export class UnreadableBody extends BodyFault {
  override readonly name = 'UnreadableBody'
  override readonly isSystemic = false
  // Private, not a property: loggers copy an error's properties, and the text holds a customer.
  readonly #text: string

  constructor(text: string) {
    super('the body is broken JSON, or was cut off')
    this.#text = text
  }

  /** The body as received. */
  get text(): string {
    return this.#text
  }
}

/** Accepts a body that begins with `[` and ends with `]`. Does not parse it: the pipeline hashes the text, and parses it only when it changed.
 *  BodyFault: a proxy's page or nothing. UnreadableBody: cut off. SyncError `skip`: whole, but no array [A §4 /geteval]. */
export function checkEvaluationBody(
  text: string,
  headers: AnswerHeaders,
  context: AnswerContext,
): void {
  requireJson(text, headers)
  const body = text.trim()
  if (body.startsWith('[') && body.endsWith(']')) return
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    throw new UnreadableBody(text)
  }
  // A 2xx body with `error` is an error; a repeat would bring the same.
  throw bodyError('skip', value, 'is no array of evaluations.', context)
}

/** Whether a body that passed the check is an empty array. */
export function isEmptyArray(text: string): boolean {
  return /^\s*\[\s*\]\s*$/.test(text)
}
