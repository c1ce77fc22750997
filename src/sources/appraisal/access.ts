import { getEvaluation } from '../../contract/appraisal/evaluations.ts'
import type { FieldValues, Operation } from '../../contract/operation.ts'
import type { AppraisalWire } from '../../values/wire.ts'

/** What a call needs to know about a rooftop. `uid` goes into X-Dealer-Id for a partner key, `dealerId` filters `/getevallist` [A §5.3, §4]. */
export interface RooftopAccess {
  readonly uid: string
  readonly dealerId: number | null
  readonly keyName: string
}

/** An API key of the config; `user` is for `/geteval` alone. */
export interface AccessKey {
  readonly name: string
  readonly value: string
  readonly kind: 'partner' | 'dedicated'
  readonly region: 'AU' | 'US' | 'GCC'
  readonly user: string | null
}

/** The headers of a call. A partner key names its rooftop; a dedicated key is bound to its own and names none [A §5.2, §5.3]. */
export function headersOf(
  rooftop: RooftopAccess,
  key: AccessKey,
  { authHeader, authPrefix }: Pick<AppraisalWire, 'authHeader' | 'authPrefix'>,
  contentType: string | null,
): Record<string, string> {
  return {
    ...(contentType === null ? {} : { 'content-type': contentType }),
    [authHeader]: authPrefix + key.value,
    ...(key.kind === 'partner' ? { 'X-Dealer-Id': rooftop.uid } : {}),
  }
}

/** Adds the key's `user` to the fields of `/geteval`, the one operation that may need it. In the list it would narrow the
 *  answer to one salesperson [A §4]. */
export function withUser(
  operation: Operation,
  fields: FieldValues,
  { user }: AccessKey,
): FieldValues {
  const isMissing = user !== null && fields['user'] === undefined
  return operation.name === getEvaluation.name && isMissing ? { ...fields, user } : fields
}

/** Says what a call was for, in messages. */
export function subjectOf(rooftop: RooftopAccess, evalId?: string): string {
  const evaluation = evalId === undefined ? '' : `for evaluation ${evalId} `
  return `${evaluation}of rooftop ${rooftop.uid} (key ${rooftop.keyName})`
}

/** What to check when the source refuses a key [A §5.1, §5.3]. */
export function keyAdvice(rooftop: RooftopAccess, key: AccessKey): string {
  const partner = ` and that it may read rooftop ${rooftop.uid} (X-Dealer-Id)`
  return `Check the value of key ${key.name}${key.kind === 'partner' ? partner : ''}.`
}
