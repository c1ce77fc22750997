import { randomUUID } from 'node:crypto'
import { UsageError } from '../../errors.ts'
import { nameHint } from '../../values/nearest-name.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { type AlertTarget, alertTargets } from '../config/alerts.ts'
import type { Config } from '../config/read.ts'
import type { AlertMessage } from '../scheduler/alert-message.ts'
import { retryGivenUp } from '../scheduler/alert-outbox.ts'
import { postAlert } from '../scheduler/alert-post.ts'
import { listRecipients } from '../scheduler/alert-routes.ts'
import { statusCommand } from '../scheduler/alerts.ts'
import type { RunCommand } from './command.ts'

/** `alerts test`: a message to each receiver, or to one. */
export const test: RunCommand = async (session, _options, [name]) => {
  const { config } = session
  const targets = alertTargets(config.alerts)
  const names = targets.map((target) => target.name)
  if (names.length === 0)
    throw new UsageError(
      `No one gets alerts: set alerts.url or alerts.targets in ${config.file ?? 'forecourt.yaml'}.`,
    )
  if (typeof name === 'string' && !names.includes(name))
    throw new UsageError(`"${name}" is not one of alerts.targets (${nameHint(name, names)}).`)
  const { db } = await session.warehouse('write')
  const tests: AlertTest[] = []
  for (const target of targets.filter((one) => name === undefined || one.name === name))
    tests.push(...(await testTarget(target, config, db)))
  session.result({ tests }, () => tests.map(line))
  return tests.every(({ failure }) => failure === null) ? 0 : 1
}

function line({ target, format, address, failure }: AlertTest): string {
  const which = `${target} (${format}${address === null ? '' : `, address ${address}`})`
  return failure === null ? `${which}: the receiver took the message` : `${which}: ${failure}`
}

/** How a test message to one receiver ended. */
interface AlertTest {
  readonly target: string
  readonly format: AlertTarget['format']
  /** The number of the address in `to`, from 1; null: a webhook. */
  readonly address: number | null
  /** null: it arrived. */
  readonly failure: string | null
}

/** Sends a test message to every address of a receiver. Those that take it get what was given up before. */
async function testTarget(
  target: AlertTarget,
  { alerts, console }: Config,
  db: Db,
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
    if (failure === null) await retryGivenUp(db, target.name, recipient)
    const address = isMail ? at + 1 : null
    tests.push({
      ...{ target: target.name, format: target.format, address },
      failure: failure?.reason ?? null,
    })
  }
  return tests
}
