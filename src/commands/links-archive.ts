import { type AllowedHost, parseAllowedHost } from '../archive/allowed-hosts.ts'
import { archiveFolder, openArchive } from '../archive/archive.ts'
import { type ArchiveReport, type ArchiveWork, archiveLinks } from '../archive/archive-links.ts'
import { defaultRules } from '../archive/fetch-pdf.ts'
import { hostsOfLinks, currentUrl } from '../archive/links-to-archive.ts'
import type { Config } from '../config/read.ts'
import type { Db } from '../db/transaction.ts'
import { messageOf, UsageError } from '../errors.ts'
import { readSourceNow } from '../links/source-time.ts'
import { findRooftops } from '../pipeline/rooftops.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import type { RunCommand } from './command.ts'
import { table } from './table.ts'

/** `links archive`: below `links`. */
export const linksArchive: RunCommand = async (session, options) => {
  const { config, log, io } = session
  const rooftops = chooseRooftops(config, options['rooftop'] as string[])
  const folder = requireFolder(config)
  const { db } = await session.warehouse('write')
  const hosts = await allowedHosts(db, config)
  await opened(folder)
  const rows = await findRooftops(db, rooftops)
  const work: ArchiveWork = {
    db,
    log,
    rules: defaultRules(hosts, folder),
    signal: io.signal,
    now: await readSourceNow(db),
    concurrency: config.http.concurrency,
    renewUrl: (link) => currentUrl(db, link),
  }
  const report = await archiveLinks(
    work,
    rows.map(({ id }) => id).filter((id) => id > 0),
  ).catch((error: unknown) => {
    throw diskFault(error, folder)
  })
  session.result(report, () => linesOf(report, folder))
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
        ? 'the warehouse has no link yet to take them from (run "forecourt sync vehicle-checks")'
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
      `The archive folder ${folder} cannot be used (${messageOf(cause)}): check links.archive.folder and the rights of it.`,
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
    `The archive folder ${folder} cannot be written (${messageOf(error)}): make room or correct its rights, then run "forecourt links archive" again; what was archived stays.`,
    { cause: error },
  )
}

function linesOf(report: ArchiveReport, folder: string): string[] {
  const { archived, alreadyThere, expired, failed, bytes } = report
  const lines = [
    `Archived ${count(archived, 'PDF')} (${bytes.toLocaleString('en')} bytes) in ${folder}; ${alreadyThere.toLocaleString('en')} there already.`,
  ]
  if (expired > 0)
    lines.push(
      `${count(expired, 'link')} expired and not tried: "forecourt links refresh" signs them again.`,
    )
  if (failed.length === 0) return lines
  return [
    ...lines,
    `${count(failed.length, 'PDF')} not archived; the next run tries them again:`,
    ...table(
      ['kind', 'check', 'reason'],
      failed.map(({ kind, ref, reason }) => [kind, ref, reason]),
    ),
  ]
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
}
