import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getEvaluation, listUsers } from '../../api/contract/appraisal/evaluations.ts'
import { type Mask, withSubstitutes } from '../../api/learn/substitute.ts'
import { errorText, UsageError } from '../../errors.ts'
import { evaluations } from '../../streams/evaluations/evaluations.ts'
import { vehicleChecksName } from '../../streams/vehicle-checks/make-due.ts'
import { plural } from '../../values/text.ts'
import type { AppraisalWire } from '../../values/wire.ts'
import { maskRecord } from '../../web/console/payload/mask.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { requestSamples, showPlan } from './wire.ts'

export const record: RunCommand = async (session, options) => {
  const { config } = session
  const rooftops = chooseRooftops(config, (options['rooftop'] ?? []) as string[])
  if (options['dryRun'] === true) return showPlan(session)
  const folder = options['to'] as string | undefined
  if (folder === undefined) throw new UsageError('Name a folder for the answers: --to <folder>.')
  makeFolder(folder)
  const received = await requestSamples(session, rooftops)
  const { answers, replaced, dropped } = withSubstitutes(
    received.answers,
    maskBy(config.wire.appraisal),
  )
  for (const [at, { operation, rooftop, request, body }] of answers.entries()) {
    const name = `${String(at + 1).padStart(2, '0')}-${operation}.json`
    const text = JSON.stringify({ operation, rooftop, request, answer: body }, null, 2)
    writeFileSync(join(folder, name), `${text}\n`, { flag: 'wx' })
  }
  const { failed } = received
  session.result({ folder, answers: answers.length, failed, replaced, dropped }, () => [
    `Wrote ${plural(answers.length, 'answer')} to ${folder}. ${plural(replaced, 'value')} that may be about a person ${replaced === 1 ? 'has another value' : 'have other values'} of the same form.`,
    ...(dropped === 0 ? [] : [`${plural(dropped, 'of them', 'of them')} became null.`]),
    ...(failed === 0 ? [] : [`${plural(failed, 'call')} without an answer.`]),
  ])
  return 0
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
    if (readdirSync(folder).length === 0) return
  } catch (cause) {
    throw new UsageError(`${folder} cannot be used: ${errorText(cause)}.`, { cause })
  }
  throw new UsageError(`${folder} is not empty: name a new folder.`)
}

/** What the console shows of an answer. The people of a dealer are not shown. */
export function maskBy(wire: AppraisalWire): Mask {
  const masked = (body: unknown, stream: string, id: unknown) =>
    maskRecord(body, { stream, naturalKey: Number.isSafeInteger(id) ? String(id) : '0' }, wire)
  return ({ operation, request, body }) => {
    if (operation === listUsers.name) return undefined
    if (operation !== getEvaluation.name || !Array.isArray(body))
      return masked(body, vehicleChecksName, request['evalid'])
    return (body as unknown[]).map((one) =>
      masked(one, evaluations.name, (one as { EvalID?: unknown } | null)?.EvalID),
    )
  }
}
