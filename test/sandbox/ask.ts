import type { Sandbox } from '#src/sandbox/server.ts'

/** An answer: status, headers, text, and the parsed JSON, if it is JSON. */
export interface Asked {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

/** Key and rooftop of the caller. */
export interface AskAs {
  /** Value of the key; null = none. Default `partner-au`. */
  readonly key?: string | null
  /** `X-Dealer-Id`; null = none. Default `rooftop-1`. */
  readonly rooftop?: string | null
}

/** POSTs JSON (text is sent as it is, undefined sends no body) with plain fetch. */
export async function ask(
  sandbox: Sandbox,
  path: string,
  body?: unknown,
  { key = 'partner-au', rooftop = 'rooftop-1' }: AskAs = {},
): Promise<Asked> {
  const headers = new Headers()
  if (body !== undefined) headers.set('content-type', 'application/json')
  if (key !== null) headers.set('authorization', key)
  if (rooftop !== null) headers.set('x-dealer-id', rooftop)
  const init: RequestInit = { method: 'POST', headers }
  if (body !== undefined) init.body = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(sandbox.baseUrl + path, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: jsonOf(text) }
}

/** The one evaluation that `/geteval` answers. */
export async function readOne(
  sandbox: Sandbox,
  evalid: number,
  as: AskAs = {},
): Promise<Record<string, unknown>> {
  const { json } = await ask(sandbox, '/geteval', { evalid }, as)
  return (json as Record<string, unknown>[])[0]!
}

/** The ids that `/getevallist` answers, ascending. */
export async function listIds(sandbox: Sandbox, body?: unknown, as: AskAs = {}): Promise<number[]> {
  const { json } = await ask(sandbox, '/getevallist', body, as)
  return (json as { EvalID: number }[]).map(({ EvalID }) => EvalID).sort((a, b) => a - b)
}

/** Unix seconds of an ISO instant. */
export function seconds(iso: string): number {
  return Date.parse(iso) / 1000
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
