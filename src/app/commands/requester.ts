import { hostname, userInfo } from 'node:os'

/** Who runs the command: `user@host`, as the ledgers of paid calls and erasures name them. */
export function requester(): string {
  return `${userName()}@${hostname()}`.slice(0, 120)
}

/** The user that this process runs as. */
export function userName(): string {
  try {
    return userInfo().username.slice(0, 120)
  } catch {
    // A container may run as a number without a name.
    return String(process.getuid?.() ?? 'unknown')
  }
}
