import { accessSync, constants, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { z } from 'zod'
import { listEvaluations, listUsers } from '../../api/contract/appraisal/evaluations.ts'
import type { Operation } from '../../api/contract/operation.ts'
import type { Answer } from '../../api/learn/answers.ts'
import { type Ask, collectAnswers, plannedCalls } from '../../api/learn/collect.ts'
import type { Finding } from '../../api/learn/decide.ts'
import { type KnownVehicle, learn as learnNames } from '../../api/learn/learn.ts'
import { type RecordedBy, readRecording } from '../../api/learn/recorded.ts'
import { unexaminedGroups } from '../../api/learn/unexamined.ts'
import { openServices } from '../../api/sources/open-services.ts'
import { errorText, SyncError, UsageError } from '../../errors.ts'
import { plural } from '../../values/text.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { Config, RooftopConfig } from '../config/read.ts'
import { changedLines, UneditableText, withWireValues } from '../config/set-wire.ts'
import type { RunCommand } from './command.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

/** What the names were learnt from. */
interface Learnt {
  readonly answers: readonly Answer[]
  readonly vehicles?: readonly KnownVehicle[]
  /** In words. */
  readonly from: string
}

export const learn: RunCommand = async (session, options, [paths]) => {
  const isStored = options['stored'] === true
  const files = (paths ?? []) as readonly string[]
  if (!isStored && files.length === 0)
    throw new UsageError(
      'Name recorded files or folders, or --stored for the answers in the warehouse.',
    )
  const rooftops = chooseRooftops(session.config, (options['rooftop'] ?? []) as string[])
  const recorded = readFiles(files, session.config)
  if (!isStored) return showFindings(session, options, recorded)
  const { db } = await session.warehouse('read')
  const { storedAnswers } = await import('./wire-stored.ts')
  const { answers, vehicles } = await storedAnswers(db, rooftops)
  return showFindings(session, options, {
    answers: [...answers, ...recorded.answers],
    vehicles,
    from: `${plural(answers.length, 'stored answer')}${files.length > 0 ? `, ${recorded.from}` : ''}`,
  })
}

export const check: RunCommand = async (session, options) => {
  const { config } = session
  const rooftops = chooseRooftops(config, (options['rooftop'] ?? []) as string[])
  if (options['dryRun'] === true) return showPlan(session)
  const { answers, failed } = await requestSamples(session, rooftops)
  const lost = failed === 0 ? '' : `; ${plural(failed, 'call')} without an answer`
  const from = `${plural(answers.length, 'answer')} to free reads${lost}`
  return showFindings(session, options, { answers, from })
}

function showPlan(session: Session): number {
  const calls = plannedCalls.map(({ operation: { name, effect, summary }, most, why }) => ({
    ...{ operation: name, effect, most },
    summary,
    why,
  }))
  const most = calls.reduce((sum, call) => sum + call.most, 0)
  session.result({ dryRun: true, most, calls }, () => [
    `At most ${most} calls, all of them free reads (nothing was called):`,
    ...table(
      ['operation', 'effect', 'at most', 'for'],
      calls.map((one) => [one.operation, one.effect, one.most, one.why]),
    ),
  ])
  return 0
}

/** Sends the planned calls, each once: a repeat would be one more. */
async function requestSamples(
  { config, log, io }: Session,
  rooftops: readonly RooftopConfig[],
): Promise<{ answers: Answer[]; failed: number }> {
  let now = new Date()
  let failed = 0
  /** By key: a service may lock a key that is refused often. */
  const refused = new Map<string, SyncError>()
  const http = { ...config.http, maxRetries: 0 }
  await using services = openServices({ ...config, http }, log, ['read'])
  const ask: Ask = async (operation, fields, { uid, dealerId, keyName }) => {
    const rooftop = { uid, dealerId, keyName }
    if (refused.has(keyName)) return undefined
    try {
      const { body, date } = await services.client.call(
        operation as Operation<'read', z.ZodRawShape>,
        { fields, rooftop, signal: io.signal },
      )
      now = date ?? now
      return body
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      if (error.status === 400 || error.status === 404) return []
      failed += 1
      // Without these two there is nothing to learn from; the message of another may quote a record.
      if (operation === listUsers || operation === listEvaluations) refused.set(keyName, error)
      return undefined
    }
  }
  const asked = rooftops.map(({ uid, dealerId, key: keyName, region }) => ({
    uid,
    dealerId,
    keyName,
    region,
  }))
  const answers = await collectAnswers(ask, asked, config.wire, () => toUnixSeconds(now))
  const [first] = refused.values()
  if (first !== undefined && !answers.some((one) => one.operation === listEvaluations.name))
    throw first
  for (const { message } of refused.values()) log.warn(message)
  return { answers, failed }
}

/** A larger file is not a recording of a few answers. */
const maxBytes = 200_000_000

function readFiles(paths: readonly string[], config: Config): Learnt {
  const { appraisal, vehicleData, rooftops, wire } = config
  const by: RecordedBy = {
    addresses: { appraisal: appraisal.baseUrl, vehicleData: vehicleData.baseUrl },
    ...{ rooftops, wire },
  }
  const recordings = paths.flatMap(filesAt).map((file) => {
    try {
      if (statSync(file).size > maxBytes) throw new Error('it has more than 200 MB')
      return readRecording(basename(file), readFileSync(file, 'utf8'), by)
    } catch (cause) {
      // The message of a syntax error quotes the text, which may name a customer.
      const why = cause instanceof SyntaxError ? 'it is not JSON' : errorText(cause)
      throw new UsageError(
        `${file} cannot be read: ${why}.`,
        cause instanceof SyntaxError ? {} : { cause },
      )
    }
  })
  const answers = recordings.flatMap((one) => one.answers)
  const ignored = recordings.reduce((sum, one) => sum + one.ignored, 0)
  const others =
    ignored === 0 ? '' : ` (${plural(ignored, 'entry', 'entries')} of no documented call ignored)`
  return { answers, from: `${plural(answers.length, 'recorded answer')}${others}` }
}

function filesAt(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
    return readdirSync(path)
      .filter((name) => /\.(json|har)$/i.test(name))
      .sort()
      .map((name) => join(path, name))
  } catch (cause) {
    throw new UsageError(`${path} cannot be read: ${errorText(cause)}.`, { cause })
  }
}

/** Prints a line for each setting, and writes what is proved into the config where that is asked for. The exit code is 1 when something
 *  must be changed still. */
function showFindings(
  session: Session,
  options: Readonly<Record<string, unknown>>,
  { answers, vehicles = [], from }: Learnt,
): number {
  const { wire } = session.config
  const findings = learnNames(answers, wire, vehicles)
  const others = unexaminedGroups(wire, findings)
  const mustChange = findings.filter((one) => one.mustChange)
  const unseen = others.flatMap(({ settings, evidence }) =>
    settings.map((one) => ({
      ...one,
      state: 'unseen',
      path: null,
      evidence,
      candidates: [],
      mustChange: false,
    })),
  )
  const proposals = findings.filter(({ state }) => state === 'elsewhere')
  const edit =
    options['write'] === true && proposals.length > 0 ? editConfig(session.config, proposals) : null
  const open = edit === null ? mustChange : mustChange.filter((one) => !proposals.includes(one))
  const document = {
    from,
    mustChange: open.length,
    changes: edit?.lines ?? [],
    settings: [...findings, ...unseen],
  }
  session.result(document, () => [
    `From ${from}:`,
    ...table(['wire.', 'state', 'configured', 'path', 'evidence'], findings.map(findingRow)),
    '',
    ...table(
      ['not examined', 'settings', 'shown by'],
      others.map(({ group, settings, evidence }) => [
        settings[0]!.setting === group ? group : `${group}.*`,
        settings.length,
        evidence,
      ]),
    ),
    '',
    ...(edit === null ? [] : [`Changes of ${edit.file}:`, ...edit.lines, '']),
    open.length === 0
      ? 'Nothing has to be changed.'
      : `${plural(open.length, 'setting')} must be changed, or decided: nothing is at the configured path.`,
  ])
  edit?.write()
  return open.length === 0 ? 0 : 1
}

/** The edit of the config file that sets what is proved. Nothing is written yet. */
function editConfig({ file }: Config, proposals: readonly Finding[]) {
  if (file === null)
    throw new UsageError('--write needs a config file: write one with "forecourt init".')
  const day = new Date().toISOString().slice(0, 10)
  const values = proposals.map(({ setting, path, evidence }) => ({
    setting,
    value: path!,
    reason: `${evidence}, ${day}`,
  }))
  try {
    const before = readFileSync(file, 'utf8')
    const after = withWireValues(before, values)
    accessSync(file, constants.W_OK)
    return { file, lines: changedLines(before, after), write: () => writeFileSync(file, after) }
  } catch (cause) {
    const why = cause instanceof UneditableText ? `it ${cause.message}` : errorText(cause)
    const lines = values.map(({ setting, value }) => `  wire.${setting}: ${JSON.stringify(value)}`)
    throw new UsageError(`${file} was not changed (${why}). Set by hand:\n${lines.join('\n')}`, {
      cause,
    })
  }
}

function findingRow({ setting, state, configured, path, evidence, candidates }: Finding): string[] {
  const shown = candidates.map((one) => `${pathText(one.path)} (${one.form})`)
  const paths = state === 'ambiguous' ? shown.join(', ') : path === null ? '' : pathText(path)
  return [setting, state, [configured].flat().map(pathText).join(', '), paths, evidence]
}

function pathText(path: string): string {
  return path === '' ? '""' : path
}
