import type { z } from 'zod'
import { listPastCarHistory, listPastPpsr, watchPpsr } from '#src/api/contract/appraisal/checks.ts'
import { getEvaluation } from '#src/api/contract/appraisal/evaluations.ts'
import type { FieldValues, Operation } from '#src/api/contract/operation.ts'
import type { Answer } from '#src/api/learn/answers.ts'
import { type Ask, collectAnswers, type KeyedRooftop } from '#src/api/learn/collect.ts'
import type { Finding } from '#src/api/learn/decide.ts'
import { evaluationsIn } from '#src/api/learn/learn.ts'
import { openServices } from '#src/api/sources/open-services.ts'
import { makeConfig } from '#src/app/config/read.ts'
import { openLog } from '#src/log.ts'
import { VirtualClock } from '#src/sandbox/clock.ts'
import { type OtherNames, otherNames } from '#src/sandbox/other-names.ts'
import { type Sandbox, startSandbox } from '#src/sandbox/server.ts'
import { firstCandidate, valueAt } from '#src/values/json-path.ts'
import { toUnixSeconds } from '#src/values/unix-seconds.ts'
import type { WireSettings } from '#src/values/wire.ts'

export const now = new Date('2026-03-10T06:30:00Z')
const silent = openLog({ level: 'silent', human: false, secrets: [], write: () => undefined })

/** A service with other names, and what it answered. */
export interface OtherService extends OtherNames {
  readonly answers: readonly Answer[]
  readonly requests: Sandbox['requests']
}

/** Asks a service with other names: as `wire check` does, and, with `all`, for every evaluation and check. */
export async function askOther(
  names: OtherNames,
  {
    seed,
    evaluations = 120,
    all = false,
    rooftops = 6,
  }: { seed: number; evaluations?: number; all?: boolean; rooftops?: number },
): Promise<OtherService> {
  const clock = new VirtualClock({ start: now, frozen: true })
  await using sandbox = await startSandbox({
    seed,
    rooftops,
    evaluations,
    days: 28,
    now,
    clock,
    ...names,
  })
  const config = makeConfig(
    {
      ...sandbox.clientConfig(),
      wire: { appraisal: { authHeader: names.wire.appraisal.authHeader } },
    },
    '/nowhere',
  )
  await using services = openServices(config, silent, ['read'])
  const ask: Ask = async (operation, fields, rooftop) => {
    try {
      return (
        await services.client.call(operation as Operation<'read', z.ZodRawShape>, {
          fields,
          rooftop,
        })
      ).body
    } catch (error) {
      if (![400, 404].includes((error as { status?: number }).status ?? 0)) throw error
      return []
    }
  }
  const asked: KeyedRooftop[] = config.rooftops.map(({ uid, dealerId, key, region }) => ({
    uid,
    dealerId,
    keyName: key,
    region,
  }))
  const answers = await collectAnswers(ask, asked, config.wire, () => toUnixSeconds(now))
  const more: Answer[] = []
  const read = async (
    operation: Operation<'read'>,
    request: FieldValues,
    rooftop: KeyedRooftop,
  ) => {
    const body = await ask(operation, request, rooftop)
    more.push({ operation: operation.name, request, body, rooftop })
  }
  if (all)
    for (const { evalId, rooftopUid } of sandbox.world.evaluations()) {
      const rooftop = asked.find(({ uid }) => uid === rooftopUid)!
      await read(getEvaluation, { evalid: evalId }, rooftop)
      if (rooftop.region !== 'AU' || !evaluationsIn(more).some(({ key }) => key === String(evalId)))
        continue
      for (const operation of [listPastPpsr, listPastCarHistory, watchPpsr])
        await read(operation, { evalid: evalId }, rooftop)
    }
  return { ...names, answers: [...answers, ...more], requests: sandbox.requests }
}

/** A service with the names of a seed. */
export async function otherService(
  seed: number,
  more: { evaluations?: number; all?: boolean } = {},
): Promise<OtherService> {
  return await askOther(otherNames(seed), { seed, ...more })
}

/** What a finding says that is not so at this service. */
export function wrongIn(
  findings: readonly Finding[],
  { wire, answers }: Pick<OtherService, 'wire' | 'answers'>,
): string[] {
  return findings.flatMap(({ setting, state, path, configured, mustChange }) => {
    const truth = firstCandidate(valueAt(wire, setting) as string)
    const isPath = path === truth
    if ((state === 'confirmed' || state === 'elsewhere') && !isPath)
      return [`${setting}: ${state} ${path}, it is ${truth}`]
    if (state === 'confirmed' && ![configured].flat().includes(truth))
      return [`${setting}: confirmed, but it is ${truth}`]
    if (mustChange && setting.endsWith('evalList.updatedAt') && [configured].flat()[0] === truth)
      return [`${setting}: must be changed, but it is ${truth}`]
    if (state === 'absent' && isSent(setting, truth, answers))
      return [`${setting}: absent, but it is ${truth}`]
    return []
  })
}

function isSent(setting: string, path: string, answers: readonly Answer[]): boolean {
  const isOf = setting.includes('.evaluation.')
  return isOf && evaluationsIn(answers).some(({ body }) => (valueAt(body, path) ?? '') !== '')
}

/** How many settings have each state. */
export function statesOf(findings: readonly Finding[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { state } of findings) counts[state] = (counts[state] ?? 0) + 1
  return counts
}

export type { WireSettings }
