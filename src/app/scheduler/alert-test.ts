import { randomUUID } from 'node:crypto'
import type { AlertTarget } from '../config/alerts.ts'
import type { Config } from '../config/read.ts'
import type { AlertMessage } from './alert-message.ts'
import { postAlert } from './alert-post.ts'
import { listRecipients } from './alert-routes.ts'
import { statusCommand } from './alerts.ts'

/** How a test message to one receiver ended. */
export interface AlertTest {
  readonly target: string
  readonly format: AlertTarget['format']
  /** The number of the address in `to`, from 1; null: a webhook. */
  readonly address: number | null
  /** null: it arrived. */
  readonly failure: string | null
}

/** Sends a test message to every address of a receiver. `onArrived` gets each recipient that took it. */
export async function testTarget(
  target: AlertTarget,
  { alerts, console }: Config,
  onArrived: (recipient: string) => Promise<void>,
): Promise<AlertTest[]> {
  const isMail = target.format === 'email'
  const message: AlertMessage = {
    ...({ source: 'forecourt', key: 'test', state: 'test', severity: 'warning' } as const),
    ...{ what: `Alerts reach ${target.name}.`, since: new Date().toISOString() },
    ...(console === null ? {} : { url: `${console.publicUrl}/console/jobs` }),
    look: statusCommand,
  }
  const tests: AlertTest[] = []
  for (const [at, recipient] of listRecipients(target).entries()) {
    const destination = { target, recipient, smtp: alerts.smtp }
    const failure = await postAlert(destination, message, randomUUID())
    if (failure === null) await onArrived(recipient)
    const address = isMail ? at + 1 : null
    tests.push({
      ...{ target: target.name, format: target.format, address },
      failure: failure?.reason ?? null,
    })
  }
  return tests
}
