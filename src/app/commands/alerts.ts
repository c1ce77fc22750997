import { UsageError } from '../../errors.ts'
import { nameHint } from '../../values/nearest-name.ts'
import { alertTargets } from '../config/alerts.ts'
import { retryGivenUp } from '../scheduler/alert-outbox.ts'
import { type AlertTest, testTarget } from '../scheduler/alert-test.ts'
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
    tests.push(
      ...(await testTarget(target, config, (recipient) =>
        retryGivenUp(db, target.name, recipient),
      )),
    )
  session.result({ tests }, () => tests.map(line))
  return tests.every(({ failure }) => failure === null) ? 0 : 1
}

function line({ target, format, address, failure }: AlertTest): string {
  const which = `${target} (${format}${address === null ? '' : `, address ${address}`})`
  return failure === null ? `${which}: the receiver took the message` : `${which}: ${failure}`
}
