import { resolve } from 'node:path'
import { UsageError } from '../../errors.ts'
import type { FileResult } from '../../stock/folders/finish-file.ts'
import { createInbox, type Inbox, inboxLabel, listInboxes } from '../../stock/folders/inbox.ts'
import { hasFaults, type PassReport } from '../../stock/folders/pass.ts'
import { delayed, runOnce, watchFolders } from '../../stock/folders/watch.ts'
import { RetryOnConnectionLoss } from '../../warehouse/db/retry-on-connection-loss.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { InboxConfig } from '../config/inbox.ts'
import { Alerts } from '../scheduler/alerts.ts'
import type { RunCommand } from './command.ts'
import { crashPointFrom } from './crash-switch.ts'
import { wholeNumberOption } from './option-values.ts'
import type { Session } from './session.ts'

/** How long the import of the present file may take after a signal. */
const endSeconds = 20

/** `stock watch`: below `stock`. */
export const stockWatch: RunCommand = async (session, options, [folder]) => {
  const { io, log } = session
  const inboxes = chooseInboxes(session, options, typeof folder === 'string' ? folder : null)
  const seconds = wholeNumberOption('--interval', options['interval'], 1, 3600)
  const isOnce = options['once'] === true
  const { signal } = io
  // A watcher that starts with the machine waits for Postgres.
  const retry = new RetryOnConnectionLoss({ log, signal }, isOnce ? 0 : null)
  const warehouse = await retry.run(() => session.warehouse('write'))
  const services = {
    ...{ warehouse, log, crashPoint: crashPointFrom(io.environment) },
    ...{ now: () => new Date(), signal: delayed(signal, endSeconds), stopping: signal },
  }
  if (isOnce) {
    const report = await runOnce(services, inboxes)
    await new Alerts(warehouse, [], 0).reportInboxes()
    session.result(report, () => passLines(report))
    return report.busy.length > 0 && report.files.length === 0 ? 3 : hasFaults(report) ? 1 : 0
  }
  const alerts = new Alerts(warehouse, [])
  for (const inbox of inboxes) log.info({ folder: inbox.folder }, `watching ${inboxLabel(inbox)}`)
  await watchFolders(services, inboxes, seconds, () => alerts.reportInboxes())
  session.result({ stopped: true }, () => ['Stopped.'])
  return 0
}

/** The drop folders of the config, or those of one folder; a folder that is not in the config needs to know whose lists it gets. */
function chooseInboxes(
  { config, io }: Session,
  options: Record<string, unknown>,
  folder: string | null,
): readonly Inbox[] {
  chooseRooftops(config, [])
  const known = listInboxes(config)
  const commandInbox = inboxOption(options)
  const place = `${config.file ?? 'forecourt.yaml'} (stock.inbox)`
  if (folder === null) {
    if (Object.keys(commandInbox).length > 0)
      throw new UsageError('--rooftop and the other options need a folder: name it.')
    if (known.length > 0) return known
    throw new UsageError(`No drop folder is in ${place}: add one, or name a folder and --rooftop.`)
  }
  const path = resolve(io.environment.cwd, folder)
  const configured = known.filter((inbox) => inbox.folder === path)
  if (configured.length > 0) {
    if (Object.keys(commandInbox).length === 0) return configured
    throw new UsageError(
      `${path} is in ${place}, which says how it is read: leave out the options.`,
    )
  }
  const { rooftop, rooftopColumn } = commandInbox
  if ((rooftop === undefined) === (rooftopColumn === undefined))
    throw new UsageError(
      `${path} is not in ${place}: name whose lists it gets with --rooftop <uid>, or --rooftop-column <header> for files of several.`,
    )
  const uid = rooftop === undefined ? null : chooseRooftops(config, [rooftop])[0]!.uid
  return [createInbox({ ...defaults, ...commandInbox, folder: path, rooftop: uid }, config)]
}

const defaults = {
  ...{ rooftopColumn: null, rooftopCodes: {}, pattern: '*', mode: 'snapshot' },
  ...{ sheet: null, marker: null, keepDays: null },
  ...{ expectDaily: null, timezone: null, settleSeconds: 10 },
} satisfies Omit<InboxConfig, 'folder' | 'rooftop'>

type Own = { -readonly [Name in keyof InboxConfig]?: NonNullable<InboxConfig[Name]> }

function inboxOption(options: Record<string, unknown>): Own {
  const { rooftop, rooftopColumn, pattern, mode, sheet, marker, settle } = options
  return {
    ...(typeof rooftop === 'string' ? { rooftop } : {}),
    ...(typeof rooftopColumn === 'string' ? { rooftopColumn } : {}),
    ...(typeof pattern === 'string' ? { pattern } : {}),
    ...(typeof sheet === 'string' ? { sheet } : {}),
    ...(typeof marker === 'string' ? { marker } : {}),
    ...(mode === 'delta' || mode === 'snapshot' ? { mode } : {}),
    ...(settle === undefined
      ? {}
      : { settleSeconds: wholeNumberOption('--settle', settle, 1, 3600) }),
  }
}

function passLines({ files, waiting, ignored, problems, busy }: PassReport): string[] {
  const lines = [
    ...files.flatMap(fileLines),
    ...waiting.map((name) => `${name}: not complete yet, or to be tried again`),
    ...ignored.map(({ name, reason }) => `${name}: left alone, it is ${reason}`),
    ...problems.map(({ problem }) => problem),
    ...busy.map((folder) => `${folder}: another process is working on it`),
  ]
  return lines.length === 0 ? ['No new files.'] : lines
}

function fileLines(result: FileResult): string[] {
  const { file, state, rooftops, reason, path, commands, unknownRows } = result
  const parts = rooftops.map(({ rooftop, outcome, importId, accepted, rejected }) =>
    outcome === 'imported'
      ? `${rooftop}: import ${importId}, ${accepted} accepted, ${rejected} rejected`
      : `${rooftop}: ${outcome === 'refused' ? 'not imported' : `already imported as import ${importId}`}`,
  )
  return [
    `${file}: ${state}${path === null ? '' : `, now ${path}`}`,
    ...parts.map((part) => `  ${part}`),
    ...(unknownRows === 0 ? [] : [`  ${unknownRows} rows of unknown rooftops were rejected`]),
    ...(reason === null
      ? []
      : reason
          .split('\n')
          .slice(0, 3)
          .map((line) => `  ${line}`)),
    ...commands.map((command) => `  If the list is right: ${command}`),
  ]
}
