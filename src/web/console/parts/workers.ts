import { type Content, type Html, html } from '../../../values/html.ts'
import { isAlive, type LiveProcess } from '../../../warehouse/db/processes.ts'

/** Whether a worker takes what is left to the workers. */
export function hasWorker(processes: readonly LiveProcess[]): boolean {
  // The demo works like a worker on what its console starts.
  return isAlive(processes, ['worker', 'demo'])
}

/** What to do instead of starting work that would wait for a worker; nothing where one is alive. `command` does it without one. */
export function noWorkerNote(
  processes: readonly LiveProcess[],
  { what, command }: { readonly what: string; readonly command: Content },
): Html | null {
  if (hasWorker(processes)) return null
  return html`<p class="note">No worker is alive: ${what} from this page waits until <code>forecourt worker</code> runs. <code>${command}</code> does it at once, without a worker.</p>`
}

/** What to do where work waits and no worker is alive; nothing where one is. */
export function noWorkerNotice(processes: readonly LiveProcess[], what: string): Html | null {
  if (hasWorker(processes)) return null
  return html`<section class="summary bad"><h2>No worker is alive</h2>
<p>${what} waits until one is: start <code>forecourt worker</code> with a config that names the same services, on any machine that reaches this warehouse. <code>forecourt serve</code> does not do this work.</p></section>`
}
