import type { AppraisalWire } from '../values/wire.ts'

/** Whether an account was generated for an evaluation captured through a link: only the suffix of its e-mail shows it
 *  [A §2 UserName, UserEmail]. */
export function isGeneratedAccount(email: string, wire: AppraisalWire): boolean {
  return email.toLowerCase().endsWith(wire.generatedUser.emailSuffix.toLowerCase())
}
