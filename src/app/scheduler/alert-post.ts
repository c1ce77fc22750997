import { parseRetryAfter } from '../../values/http-date.ts'
import type { AlertSettings, AlertTarget } from '../config/alerts.ts'
import { type AlertMessage, messageBody, messageMail } from './alert-message.ts'

const timeoutMs = 10_000
/** A receiver that asks for a longer pause is tried before it. */
const longestPauseMs = 3_600_000

/** Where a message goes. */
interface Destination {
  readonly target: AlertTarget
  /** The address of an e-mail; empty for a webhook. */
  readonly recipient: string
  readonly smtp: AlertSettings['smtp']
}

/** Why a message did not arrive, without the address and without what the receiver answered, as both may hold a secret. */
export interface Failure {
  readonly reason: string
  /** For how long the receiver asked to be left alone; 0: it did not. */
  readonly pauseMs: number
}

/**
 * Sends one message; null when it arrived. `id` is the same in every attempt, so that a receiver can recognise a message that it has.
 */
export async function postAlert(
  { target, recipient, smtp }: Destination,
  message: AlertMessage,
  id: string,
): Promise<Failure | null> {
  if (target.format === 'email') return await sendMail(smtp!, recipient, message, id)
  return await callWebhook(target.url!, messageBody(target.format, message), id)
}

async function callWebhook(url: string, body: unknown, id: string): Promise<Failure | null> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forecourt-message': id },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    await answer.body?.cancel()
    if (answer.ok) return null
    const isMoved = answer.status >= 300 && answer.status < 400
    const advice = isMoved ? ', a redirect: set the address that it leads to' : ''
    return {
      reason: `answered with ${answer.status}${advice}`,
      pauseMs: retryPause(answer.headers),
    }
  } catch (error) {
    return failed(`cannot be reached: ${networkReason(error)}`)
  }
}

function retryPause(headers: Headers): number {
  const [retryAfter, date] = ['retry-after', 'date'].map((name) => headers.get(name) ?? undefined)
  return Math.min(parseRetryAfter(retryAfter, date, new Date()) ?? 0, longestPauseMs)
}

function failed(reason: string): Failure {
  return { reason, pauseMs: 0 }
}

/** Why a connection failed, by its code: the words of the error may quote the address. */
function networkReason(error: unknown): string {
  const { name, cause, code } = error as {
    name?: string
    cause?: { code?: unknown }
    code?: unknown
  }
  if (name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`
  return postFailure(String(cause?.code ?? code ?? 'the connection failed'))
}

/** Node's codes for a certificate that is not accepted, mostly those of OpenSSL. */
const certificateCode = /CERT|UNABLE_TO_VERIFY|HOSTNAME_MISMATCH/

function postFailure(code: string): string {
  if (!certificateCode.test(code)) return code
  return `its certificate is not trusted (${code}): correct it, or name the file of its authority in NODE_EXTRA_CA_CERTS`
}

async function sendMail(
  { host, port, security, user, password, from }: NonNullable<AlertSettings['smtp']>,
  to: string,
  message: AlertMessage,
  id: string,
): Promise<Failure | null> {
  // Only for those who use it: it takes longer to import than most commands to start.
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    ...{ host, port, secure: security === 'tls' },
    ...{ requireTLS: security === 'starttls', ignoreTLS: security === 'none' },
    ...(user !== null && password !== null && { auth: { user, pass: password } }),
    ...{ connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
    ...{ dnsTimeout: timeoutMs, disableFileAccess: true, disableUrlAccess: true },
  })
  try {
    await transport.sendMail({
      ...{ from: { name: 'Forecourt', address: from }, to, ...messageMail(message) },
      messageId: `<${id}@${from.split('@')[1]}>`,
      // So that no program answers that a person is away.
      headers: { 'auto-submitted': 'auto-generated', 'x-auto-response-suppress': 'All' },
    })
    return null
  } catch (error) {
    return failed(mailReason(error))
  } finally {
    transport.close()
  }
}

/** Why an e-mail was not sent, by its codes: what a server answers may quote the address or the user. */
function mailReason(error: unknown): string {
  const { code, originalCode, responseCode } = error as {
    code?: string
    originalCode?: string
    responseCode?: number
  }
  const answer = responseCode === undefined ? '' : ` (${responseCode})`
  if (originalCode !== undefined)
    return `the mail server cannot be reached: ${postFailure(originalCode)}`
  if (code === 'EAUTH') return `the mail server refused the user or the password${answer}`
  if (code === 'EENVELOPE') return `the mail server refused the sender or an address${answer}`
  if (code === 'ETLS') return `the mail server has no TLS that can be used${answer}`
  if (responseCode !== undefined) return `the mail server answered with ${responseCode}`
  if (code === 'ETIMEDOUT') return `no answer of the mail server within ${timeoutMs / 1000} s`
  return `the mail server cannot be reached: ${code ?? 'the connection failed'}`
}
