import { errorText, UsageError } from '../../errors.ts'
import { ofRenewedAge } from '../../streams/vehicle-checks/due.ts'
import { vehicleChecks } from '../../streams/vehicle-checks/vehicle-checks.ts'
import { findRooftops } from '../../sync/run/rooftops.ts'
import { plural } from '../../values/text.ts'
import { toUnixSeconds } from '../../values/unix-seconds.ts'
import { readSourceNow } from '../../warehouse/db/source-now.ts'
import type { Db } from '../../warehouse/db/transaction.ts'
import { type AllowedHost, parseAllowedHost } from '../../web/archive/allowed-hosts.ts'
import { archiveFolder, openArchive } from '../../web/archive/archive.ts'
import {
  type ArchiveReport,
  type ArchiveWork,
  archiveLinks,
  currentUrl,
  hostsOfLinks,
} from '../../web/archive/archive-links.ts'
import { defaultRules } from '../../web/archive/fetch-pdf.ts'
import type { LinkKind, LinkOutcome, LinkRequest } from '../../web/links/link.ts'
import { LinkOpener } from '../../web/links/link-opener.ts'
import { outcomePage } from '../../web/links/pages.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { Config } from '../config/read.ts'
import type { RunCommand } from './command.ts'
import { runAndReport } from './run-report.ts'
import { table } from './table.ts'

export const refresh: RunCommand = async (session, options) => {
  const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
  const from = toUnixSeconds(session.config.sync.start)
  const plan = { command: 'links refresh', mode: 'links', from, until: null } as const
  const request = { plan, streams: [vehicleChecks], rooftops }
  return await runAndReport(session, await session.context(), request)
}

export const show: RunCommand = async (session, options, args) => {
  const { config } = session
  const kind = args[0] as LinkKind
  const named = typeof options['rooftop'] === 'string' ? [options['rooftop']] : []
  const chosen = chooseRooftops(config, named)
  const rooftopUid = named.length === 0 ? null : chosen[0]!.uid
  const request = { kind, id: String(args[1]), rooftopUid }
  const outcome = await new LinkOpener(await session.context()).open(request)
  if (outcome.is !== 'live') throw whyNot(request, outcome, config)
  const { url, expiresAt } = outcome
  // The link is what the user asks for.
  session.resultWithSecrets({ kind, id: request.id, url, expiresAt }, () => [url])
  return 0
}

/** UsageError where another command line would help. */
function whyNot(
  { kind, id }: LinkRequest,
  outcome: Exclude<LinkOutcome, { readonly is: 'live' }>,
  { file }: Config,
): Error {
  if (outcome.is === 'unknown')
    return new UsageError(
      `${kind} ${id} is not in the warehouse at any rooftop of ${file ?? 'the config'}: take the id from ` +
        `${kind === 'photo' ? 'core.photo (photo_id)' : 'core.vehicle_check (check_ref)'}, or run "forecourt sync" if it is new.`,
    )
  if (outcome.is === 'ambiguous') {
    const uids = outcome.rooftops.map(({ uid, name }) => `${uid} (${name})`).join(', ')
    return new UsageError(
      `${kind} ${id} is known at several rooftops: add --rooftop, one of ${uids}.`,
    )
  }
  if (outcome.is === 'unavailable')
    return new Error(
      `${kind} ${id} cannot be signed now: ${outcome.reason} Try again in ${outcome.retryAfterSeconds} s.`,
    )
  const copy = outcome.archived === null ? '' : ` The archive has a copy: ${outcome.archived.path}`
  const what = outcome.reason === 'erased' ? 'was erased' : 'has vanished'
  return new Error(`${kind} ${id} ${what}. ${outcomePage(kind, outcome).lines[0]}${copy}`)
}

export const archive: RunCommand = async (session, options) => {
  const { config, log, io } = session
  const rooftops = chooseRooftops(config, options['rooftop'] as string[])
  const folder = requireFolder(config)
  const { db } = await session.warehouse('write')
  const hosts = await allowedHosts(db, config)
  await opened(folder)
  const rows = await findRooftops(db, rooftops)
  const now = await readSourceNow(db)
  const work: ArchiveWork = {
    db,
    log,
    rules: defaultRules(hosts, folder),
    signal: io.signal,
    now,
    ofRenewedAge: ofRenewedAge(config, now),
    concurrency: config.http.concurrency,
    renewUrl: (link) => currentUrl(db, link),
  }
  const report = await archiveLinks(
    work,
    rows.map(({ id }) => id).filter((id) => id > 0),
  ).catch((error: unknown) => {
    throw diskFault(error, folder)
  })
  session.result(report, () => archiveLines(report, folder))
  return report.failed.length === 0 ? 0 : 1
}

function requireFolder(config: Config): string {
  const folder = archiveFolder(config)
  if (folder !== null) return folder
  throw new UsageError(
    `There is no archive: set links.archive.folder in ${config.file ?? 'forecourt.yaml'} to the folder for the PDFs, ` +
      'and links.archive.hosts to the hosts that they may be fetched from.',
  )
}

/** UsageError when none is named, with those that the links in the warehouse would need. */
async function allowedHosts(db: Db, { links, file }: Config): Promise<AllowedHost[]> {
  const entries = links.archive.hosts
  if (entries.length === 0) {
    const present = await hostsOfLinks(db)
    const advice =
      present.length === 0
        ? 'the warehouse has no link yet to take them from (run "forecourt sync")'
        : `the links in the warehouse lead to: ${present.join(', ')}`
    throw new UsageError(
      `links.archive.hosts in ${file ?? 'forecourt.yaml'} is empty, so no PDF may be fetched: name the hosts that you trust; ${advice}.`,
    )
  }
  return entries.map((entry) => {
    const host = parseAllowedHost(entry)
    if (host !== null) return host
    throw new UsageError(
      `links.archive.hosts: "${entry}" is not a host: write files.example.com, files.example.com:8443, *.example.com or, without TLS, http://127.0.0.1:4010.`,
    )
  })
}

async function opened(folder: string): Promise<void> {
  try {
    await openArchive(folder)
  } catch (cause) {
    throw new UsageError(
      `The archive folder ${folder} cannot be used (${errorText(cause)}): check links.archive.folder and the rights of it.`,
      { cause },
    )
  }
}

const diskCodes = new Set(
  'EACCES EDQUOT EEXIST EIO EMFILE ENOENT ENOSPC ENOTDIR EPERM EROFS'.split(' '),
)

/** A sentence for a disk that takes no more; any other error as it is. */
function diskFault(error: unknown, folder: string): unknown {
  const { code } = (error ?? {}) as { code?: unknown }
  if (!diskCodes.has(String(code))) return error
  return new Error(
    `The archive folder ${folder} cannot be written (${errorText(error)}): make room or correct its rights, then run "forecourt links archive" again; what was archived stays.`,
    { cause: error },
  )
}

function archiveLines(report: ArchiveReport, folder: string): string[] {
  const { archived, alreadyThere, expired, notRenewed, failed, bytes } = report
  const lines = [
    `Archived ${plural(archived, 'PDF')} (${bytes.toLocaleString('en')} bytes) in ${folder}; ${alreadyThere.toLocaleString('en')} there already.`,
  ]
  const renewed = expired - notRenewed
  if (renewed > 0)
    lines.push(
      `${plural(renewed, 'link')} expired and not tried: "forecourt links refresh" signs them again.`,
    )
  if (notRenewed > 0)
    lines.push(
      `${plural(notRenewed, 'link')} expired and not tried: no run signs them again, as the check or its evaluation is gone, or older than links.keepAliveDays.`,
    )
  if (failed.length === 0) return lines
  return [
    ...lines,
    `${plural(failed.length, 'PDF')} not archived; the next run tries them again:`,
    ...table(
      ['kind', 'check', 'reason'],
      failed.map(({ kind, ref, reason }) => [kind, ref, reason]),
    ),
  ]
}
