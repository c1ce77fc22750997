import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs'
import type { z } from 'zod'
import { listEvaluations, listUsers } from '../../api/contract/appraisal/evaluations.ts'
import type { Operation } from '../../api/contract/operation.ts'
import type { Answer } from '../../api/learn/answers.ts'
import {
  type Ask,
  collectAnswers,
  type PlannedCalls,
  plannedCalls,
} from '../../api/learn/collect.ts'
import { type Finding, type ShownFinding, withNextSteps } from '../../api/learn/decide.ts'
import { type KnownVehicle, learn as learnNames } from '../../api/learn/learn.ts'
import { unexaminedGroups } from '../../api/learn/unexamined.ts'
import { openServices } from '../../api/sources/open-services.ts'
import { errorText, SyncError, UsageError } from '../../errors.ts'
import { firstText, listText, plural } from '../../values/text.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { Config, RooftopConfig } from '../config/read.ts'
import { changedLines, UneditableText, withWireValues } from '../config/set-wire.ts'
import type { RunCommand } from './command.ts'
import { readFiles } from './recorded-files.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'
import { wrap } from './wrap.ts'

/** What the names were learnt from. */
interface Learnt {
  readonly answers: readonly Answer[]
  readonly vehicles?: readonly KnownVehicle[]
  /** In words. */
  readonly from: string
}

export const learn: RunCommand = async (session, options, [paths]) => {
  rejectKeepAlone(options)
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
  const { storedAnswers } = await import('../../web/console/names/stored-answers.ts')
  const { answers, vehicles } = await storedAnswers(db, rooftops)
  return showFindings(session, options, {
    answers: [...answers, ...recorded.answers],
    vehicles,
    from: `${plural(answers.length, 'stored answer')}${files.length > 0 ? `, ${recorded.from}` : ''}`,
  })
}

export const check: RunCommand = async (session, options) => {
  rejectKeepAlone(options)
  const { config } = session
  const rooftops = chooseRooftops(config, (options['rooftop'] ?? []) as string[])
  if (options['keyHeader'] === true) return await checkKeyHeader(session, rooftops[0]!, options)
  if (options['dryRun'] === true) return showPlan(session)
  const { answers, failed } = await requestSamples(session, rooftops)
  const lost = failed === 0 ? '' : `; ${plural(failed, 'call')} without an answer`
  const from = `${plural(answers.length, 'answer')} to free reads${lost}`
  return showFindings(session, options, { answers, from })
}

function rejectKeepAlone(options: Readonly<Record<string, unknown>>): void {
  if (options['keep'] === true && options['write'] !== true)
    throw new UsageError('--keep changes the config file: add --write.')
}

/** Finds the header of the key by trying. The exit code is 1 when something must be changed still. */
async function checkKeyHeader(
  session: Session,
  rooftop: RooftopConfig,
  options: Readonly<Record<string, unknown>>,
): Promise<number> {
  const { config } = session
  if (options['dryRun'] === true) return showPlan(session, keyFormCalls)
  const form = await findKeyForm(session, rooftop)
  if (form === null)
    throw new UsageError(
      `The service takes key ${rooftop.key} in no known form: check the key itself, or set wire.appraisal.authHeader as the vendor says.`,
    )
  const { authHeader, authPrefix, calls, isProved } = form
  const evidence = 'the service took the key so, and no wrong key'
  const proposals = (['authHeader', 'authPrefix'] as const)
    .filter((name) => form[name] !== config.wire.appraisal[name])
    .map((name) => ({ setting: `appraisal.${name}`, proposal: form[name], evidence }))
  const isWritten = options['write'] === true && isProved && proposals.length > 0
  const edit = isWritten ? editConfig(config, proposals) : null
  const open = edit === null ? proposals.length : 0
  const document = {
    authHeader,
    authPrefix,
    isProved,
    calls,
    mustChange: open,
    changes: edit?.lines ?? [],
  }
  session.result(document, () => [
    isProved
      ? `The service takes key ${rooftop.key} as "${formText(form)}", and refuses a wrong key there (${plural(calls, 'call')}).`
      : `The service answers to "${formText(form)}", but to a wrong key as well: that proves nothing (${plural(calls, 'call')}).`,
    ...(edit === null ? [] : [`Changes of ${edit.file}:`, ...edit.lines]),
    open === 0
      ? 'Nothing has to be changed.'
      : isProved
        ? '"--write" sets it in the config file.'
        : 'Set wire.appraisal.authHeader and authPrefix as the vendor says.',
  ])
  edit?.write()
  return isProved && open === 0 ? 0 : 1
}

export function showPlan(
  session: Session,
  planned: readonly PlannedCalls[] = plannedCalls,
): number {
  const calls = planned.map(({ operation: { name, effect, summary }, most, why }) => ({
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
export async function requestSamples(
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

/** Prints a line for each setting, and writes what is proved into the config where that is asked for. The exit code is 1 when something
 *  must be changed still. */
function showFindings(
  session: Session,
  options: Readonly<Record<string, unknown>>,
  { answers, vehicles = [], from }: Learnt,
): number {
  const { wire, wireInFile, wireWritten } = session.config
  const findings = withNextSteps(learnNames(answers, wire, vehicles), {
    ...{ inFile: wireInFile, written: wireWritten, held: wire.appraisal.held },
  })
  const others = unexaminedGroups(wire, findings)
  const mustChange = findings.filter((one) => one.mustChange)
  const unseen = others.flatMap(({ settings, evidence }) =>
    settings.map((one) => ({
      ...one,
      ...{ state: 'unseen', path: null, proposal: null, evidence, candidates: [] },
      ...{ byFormAlone: [], mustChange: false, nextStep: '', isHeld: false },
    })),
  )
  const proposals = findings.filter(({ state }) => state === 'elsewhere')
  const released = findings.filter(
    ({ isHeld, nextStep }) =>
      isHeld && (nextStep === '--write' || (options['keep'] === true && nextStep === '--keep')),
  )
  const values = [...proposals, ...heldValues(wire.appraisal.held, released)]
  const edit =
    options['write'] === true && values.length > 0 ? editConfig(session.config, values) : null
  const open =
    edit === null
      ? mustChange
      : mustChange.filter((one) => !proposals.includes(one) && !released.includes(one))
  const isReleased = (one: ShownFinding) => edit !== null && released.includes(one)
  const held = findings.filter((one) => one.isHeld && !isReleased(one))
  const document = {
    from,
    mustChange: open.length,
    changes: edit?.lines ?? [],
    settings: [...findings, ...unseen],
  }
  session.result(document, () => [
    `From ${from}:`,
    ...table(
      ['wire.', 'state', 'next step', 'configured', 'path', 'evidence'],
      findings.map(findingRow),
    ),
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
    ...(open.length === 0 ? ['Nothing has to be changed.'] : wrap(openText(open))),
    ...wrap(unseenText(findings)),
    ...wrap(unprovedText(findings)),
    ...wrap(heldText(held)),
  ])
  edit?.write()
  return open.length === 0 ? 0 : 1
}

/** By the start of the name of a setting, the free call whose answer has it. */
const shownBy = {
  'appraisal.evalList.': '"forecourt api getevallist --rooftop <uid>"',
  'appraisal.evaluation.': '"forecourt api geteval --rooftop <uid> --evalid <id>"',
  'appraisal.pastCheck.': '"forecourt api getpastppsrsearch --rooftop <uid> --evalid <id>"',
  'appraisal.watch.': '"forecourt api ppsrwatch --rooftop <uid> --evalid <id>"',
}

function openText(open: readonly Finding[]): string {
  const byHand = open.filter(({ state }) => state !== 'elsewhere')
  const commands = Object.entries(shownBy)
    .filter(([start]) => byHand.some(({ setting }) => setting.startsWith(start)))
    .map(([, command]) => command)
  const hasProved = byHand.length < open.length
  return [
    `${plural(open.length, 'setting')} must be changed, or decided: ${settingNames(open)}.`,
    hasProved && '--write sets those with another path that is proved (elsewhere).',
    byHand.length > 0 &&
      `${hasProved ? 'For the others see' : 'See'} an answer (${listText(commands, commands.length)}), and set the path in the config; "none" where there is no such field.`,
  ]
    .filter(Boolean)
    .join(' ')
}

/** Settings that no answer shows, and that no other path may mean; '' where there is none. */
function unseenText(findings: readonly ShownFinding[]): string {
  const unseen = findings.filter(({ state, nextStep }) => state === 'unseen' && nextStep === '')
  if (unseen.length === 0) return ''
  return `No answer shows ${plural(unseen.length, 'setting')} (unseen): ${settingNames(unseen, 8)}. Try again when the service has such data.`
}

function settingNames(findings: readonly Finding[], most = findings.length): string {
  return listText(
    findings.map(({ setting }) => `wire.${setting}`),
    most,
  )
}

/** What nothing proves though it has values; '' where there is nothing of that kind. */
function unprovedText(findings: readonly ShownFinding[]): string {
  const unproved = findings.filter(({ nextStep }) => nextStep === 'keep' || nextStep === 'compare')
  if (unproved.length === 0) return ''
  return `Nothing proves ${plural(unproved.length, 'setting')} whose path has values (keep, or compare): compare an answer with what the service itself shows of the vehicle, first where the step is compare. A setting that you write into the config file counts as decided, also where it is the default.`
}

/** The shorter list of `wire.appraisal.held`; nothing where it stays. */
function heldValues(held: readonly string[], released: readonly ShownFinding[]) {
  if (released.length === 0) return []
  const names = new Set(released.map(({ setting }) => setting.split('.').at(-1)!))
  const proposal = held.filter((name) => !names.has(name))
  const evidence = 'columns that stay empty until their names are proved, or decided'
  return [{ setting: 'appraisal.held', proposal, evidence }]
}

/** What stays empty because nothing proves its name; '' where nothing does. */
function heldText(held: readonly ShownFinding[]): string {
  if (held.length === 0) return ''
  const names = listText(
    held.map(({ setting }) => setting.split('.').at(-1)!),
    held.length,
  )
  return `Held, so that the columns are empty: ${names} (wire.appraisal.held). --write deletes there what is proved or decided, and with --keep also what has the step --keep, whose path may be the one. Delete a name yourself where the service has no such field. Then "forecourt replay" fills the columns.`
}

/** The edit of the config file that sets what is proved. Nothing is written yet. */
function editConfig(
  { file }: Config,
  proposals: readonly Pick<Finding, 'setting' | 'proposal' | 'evidence'>[],
) {
  if (file === null)
    throw new UsageError('--write needs a config file: write one with "forecourt init".')
  const day = new Date().toISOString().slice(0, 10)
  const values = proposals.map(({ setting, proposal, evidence }) => ({
    setting,
    value: proposal!,
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

function findingRow(found: ShownFinding): string[] {
  const { setting, state, nextStep, configured, path, evidence, candidates, byFormAlone } = found
  const list = (all: Finding['candidates']) =>
    firstText(
      all.map((one) => `${pathText(one.path)} (${one.form})`),
      4,
    )
  const paths = [
    path === null ? list(candidates) : pathText(path),
    byFormAlone.length === 0 ? '' : `by form alone: ${list(byFormAlone)}`,
  ].filter((text) => text !== '')
  const texts = [configured].flat().map(pathText)
  return [setting, state, nextStep, texts.join(', '), paths.join('; '), evidence]
}

function pathText(path: string): string {
  return path === '' ? '""' : path
}

/** A header that may carry the key, and the text before it. */
interface KeyForm {
  readonly authHeader: string
  readonly authPrefix: string
}

const knownForms: readonly KeyForm[] = [
  { authHeader: 'Authorization', authPrefix: '' },
  { authHeader: 'Authorization', authPrefix: 'Bearer ' },
  { authHeader: 'X-API-Key', authPrefix: '' },
  { authHeader: 'Authorization', authPrefix: 'ApiKey ' },
  { authHeader: 'api-key', authPrefix: '' },
  { authHeader: 'Ocp-Apim-Subscription-Key', authPrefix: '' },
]

/** What `findKeyForm` may call. */
const keyFormCalls: readonly PlannedCalls[] = [
  { operation: listUsers, most: knownForms.length + 1, why: 'which header carries the key' },
]

/** How the service took the key. */
interface FoundForm extends KeyForm {
  readonly calls: number
  /** false: it took a wrong key in the same form too, so that the form proves nothing. */
  readonly isProved: boolean
}

/**
 * Sends the key of a rooftop in the known forms, the configured one first, on one free read of the configured host, until the service takes
 * it; then a wrong key in that form. null: it takes none of them.
 */
async function findKeyForm(session: Session, rooftop: RooftopConfig): Promise<FoundForm | null> {
  const { config } = session
  const { authHeader, authPrefix } = config.wire.appraisal
  const configured = { authHeader, authPrefix }
  const others = knownForms.filter((form) => formText(form) !== formText(configured))
  const forms = [configured, ...others].slice(0, knownForms.length)
  for (const [at, form] of forms.entries()) {
    if (!(await isTaken(session, rooftop, form, config))) continue
    const key = config.keys[rooftop.key]!
    const wrong = { ...key, value: `${key.value.slice(0, -1)}${key.value.endsWith('0') ? 1 : 0}` }
    const keys = { ...config.keys, [rooftop.key]: wrong }
    const isProved = !(await isTaken(session, rooftop, form, { ...config, keys }))
    return { ...form, calls: at + 2, isProved }
  }
  return null
}

/** A header as it is sent, without the key. */
function formText({ authHeader, authPrefix }: KeyForm): string {
  return `${authHeader}: ${authPrefix}<key>`
}

/** Whether the service answers. A call is not repeated: a service may lock a key that is refused often. */
async function isTaken(
  { log, io }: Session,
  { uid, dealerId, key: keyName }: RooftopConfig,
  form: KeyForm,
  config: Config,
): Promise<boolean> {
  const wire = { ...config.wire, appraisal: { ...config.wire.appraisal, ...form } }
  const http = { ...config.http, maxRetries: 0 }
  await using services = openServices({ ...config, http, wire }, log, ['read'])
  try {
    await services.client.call(listUsers as Operation<'read', z.ZodRawShape>, {
      ...{ fields: {}, rooftop: { uid, dealerId, keyName }, signal: io.signal },
    })
    return true
  } catch (error) {
    if (error instanceof SyncError && [400, 401, 403, 404].includes(error.status ?? 0)) return false
    throw error
  }
}
