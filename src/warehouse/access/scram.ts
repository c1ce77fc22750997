import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto'

// Like libpq's PQencryptPasswordConn: the password itself is in no statement, so it is in no server log.
const iterations = 4096

/** The verifier that Postgres stores for a password (RFC 5803), for `alter role … password`. ASCII passwords need no SASLprep. */
export function scramVerifier(
  password: string,
  salt: Buffer = randomBytes(16),
  rounds = iterations,
): string {
  const salted = pbkdf2Sync(password, salt, rounds, 32, 'sha256')
  const clientKey = hmac(salted, 'Client Key')
  const storedKey = createHash('sha256').update(clientKey).digest('base64')
  const serverKey = hmac(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$${rounds}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}

/** Whether the stored verifier belongs to the password. false for none, and for another kind of verifier. */
export function verifiesPassword(stored: string | null, password: string): boolean {
  const [, rounds, salt] = /^SCRAM-SHA-256\$(\d+):([A-Za-z0-9+/=]+)\$/.exec(stored ?? '') ?? []
  if (stored === null || rounds === undefined || salt === undefined) return false
  const made = Buffer.from(scramVerifier(password, Buffer.from(salt, 'base64'), Number(rounds)))
  const known = Buffer.from(stored)
  return made.length === known.length && timingSafeEqual(made, known)
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
