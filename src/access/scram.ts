import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto'

// As libpq's PQencryptPasswordConn: the password itself is in no statement, and so in no log of the server.
const iterations = 4096

/** What Postgres stores of a password (RFC 5803), fit for `alter role … password`. The password is ASCII, so SASLprep changes nothing. */
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

/** Was the stored verifier made from the password? False for none, and for one of another kind. */
export function isVerifierOf(stored: string | null, password: string): boolean {
  const [, rounds, salt] = /^SCRAM-SHA-256\$(\d+):([A-Za-z0-9+/=]+)\$/.exec(stored ?? '') ?? []
  if (stored === null || rounds === undefined || salt === undefined) return false
  const made = Buffer.from(scramVerifier(password, Buffer.from(salt, 'base64'), Number(rounds)))
  const known = Buffer.from(stored)
  return made.length === known.length && timingSafeEqual(made, known)
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
