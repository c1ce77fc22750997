import type { Sandbox } from '#src/sandbox/server.ts'

/** An answer of the vehicle-data APIs. */
export interface Answered {
  readonly status: number
  readonly json: Record<string, unknown>
}

/** A field of a form: text, or a file. */
export type FormValue = string | number | boolean | File

/** POSTs a multipart form with the key of the vehicle-data APIs, or another one; null sends none. */
export async function sendForm(
  sandbox: Sandbox,
  path: string,
  fields: Readonly<Record<string, FormValue>>,
  key: string | null = sandbox.vehicleDataKey,
): Promise<Answered> {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields))
    if (value instanceof File) body.append(name, value)
    else body.append(name, String(value))
  return call(sandbox, path, { method: 'POST', body }, key)
}

/** POSTs JSON. */
export function sendJson(sandbox: Sandbox, path: string, body: unknown): Promise<Answered> {
  const headers = { 'content-type': 'application/json' }
  return call(sandbox, path, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** GETs. */
export function get(sandbox: Sandbox, path: string): Promise<Answered> {
  return call(sandbox, path, {})
}

async function call(
  { vehicleDataUrl, vehicleDataKey }: Sandbox,
  path: string,
  init: RequestInit,
  key: string | null = vehicleDataKey,
): Promise<Answered> {
  const headers = new Headers(init.headers)
  if (key !== null) headers.set('authorization', key)
  const response = await fetch(vehicleDataUrl + path, { ...init, headers })
  return { status: response.status, json: (await response.json()) as Answered['json'] }
}
