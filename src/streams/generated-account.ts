import type { AppraisalWire } from '../values/wire.ts'

/** Evaluations captured through a link have a generated account, told by the suffix of its e-mail alone [A §2 UserName, UserEmail]. */
export function isGeneratedAccount(email: string, wire: AppraisalWire): boolean {
  return email.toLowerCase().endsWith(wire.generatedUser.emailSuffix.toLowerCase())
}
