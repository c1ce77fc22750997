import { findExampleSubject } from './example-calls.ts'
import { curlCommand } from './example-commands.ts'
import { codeBlock, type Html, html, table } from './page-html.ts'
import type { SandboxState } from './sandbox-state.ts'

interface Control {
  readonly method: string
  readonly path: string
  readonly does: string
  /** An example body; null where none is sent. */
  readonly body: Readonly<Record<string, unknown>> | null
}

function controls(evalid: number): readonly Control[] {
  const fault = { match: { path: '/geteval' }, times: 1, fault: { kind: 'status', status: 503 } }
  return [
    control('GET', '/clock', 'shows the virtual time, which the whole sandbox uses'),
    control('POST', '/clock', 'moves it: advanceSeconds, or set to an instant', {
      advanceSeconds: 86_400,
    }),
    control('POST', '/export', 'presses Export in the app: sends ON_EXPORT webhooks', { evalid }),
    control('POST', '/drive', 'ends a drive: sends ON_DRIVE_COMPLETED webhooks', { evalid }),
    control('GET', '/deliveries', 'lists what was delivered to webhooks'),
    control('POST', '/deliveries', 'loses, doubles or delays shares of the later deliveries', {
      lose: 0.1,
      double: 0.1,
      late: 0.1,
    }),
    control('GET', '/requests', 'counts the answered requests by path'),
    control('GET', '/limits', 'shows the quotas and throttles in force'),
    control('POST', '/limits', 'changes some of them, e.g. to get a 429', { lookupsPerDay: 10 }),
    control('POST', '/faults', 'adds a fault: status, tooMany, reset, slow, truncate, …', fault),
    control('DELETE', '/faults', 'clears every fault'),
  ]
}

function control(
  method: string,
  path: string,
  does: string,
  body: Control['body'] = null,
): Control {
  return { method, path: `/sandbox${path}`, does, body }
}

/** Controls for what happens at the real service without a call: time, presses in its app, faults. */
export function controlsSection(service: SandboxState): Html {
  const all = controls(findExampleSubject(service)?.evaluation?.evalId ?? 1001)
  const rows = all.map(({ method, path, does }) => [
    html`<span class="method ${method.toLowerCase()}">${method}</span>`,
    html`<code>${path}</code>`,
    does,
  ])
  const commands = all.map(({ method, path, body }) =>
    curlCommand({
      method,
      url: service.origin + path,
      headers: {},
      json: body,
      form: null,
      file: null,
    }),
  )
  return html`<section id="controls" aria-labelledby="controls-title">
  <h2 id="controls-title">Controls</h2>
  <p>Not part of the documented services: JSON without a key, answered only to this machine.</p>
  ${table('Controls of the sandbox', ['method', 'path', 'what it does'], rows)}
  <details class="part"><summary>As curl commands</summary>
  ${commands.map((command, index) => codeBlock(`${all[index]?.method} ${all[index]?.path}`, command))}
  </details>
</section>`
}
