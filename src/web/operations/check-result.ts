/** One line of the check. `detail` says what was found, and what to do where something is to be done. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
}

export function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail }
}

export function warn(name: string, detail: string): Check {
  return { name, status: 'warn', detail }
}

export function fail(name: string, detail: string): Check {
  return { name, status: 'fail', detail }
}
