import { type AnswerContext, bodyError } from '../http-fault.ts'
import { type User, user } from '../../contract/appraisal/shapes.ts'

/** The users of a parsed `/getuserlist` answer [A §4]. An item that is no user is reported by position and path, never by value.
 *  SyncError `abort` when the answer is no array. */
export function readUsers(
  body: unknown,
  context: AnswerContext,
): { users: User[]; malformed: { index: number; issue: string }[] } {
  if (!Array.isArray(body)) throw bodyError('abort', body, 'is no array of users.', context)
  const users: User[] = []
  const malformed: { index: number; issue: string }[] = []
  body.forEach((item: unknown, index) => {
    const parsed = user.safeParse(item)
    if (parsed.success) users.push(parsed.data)
    else malformed.push({ index, issue: pathsOf(parsed.error.issues) })
  })
  return { users, malformed }
}

function pathsOf(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly code: string }[],
): string {
  return issues
    .map(({ path, code }) => `${path.map(String).join('.') || 'item'}: ${code}`)
    .join('; ')
}
