import type { Config } from '../config.ts'
import { UsageError } from '../errors.ts'
import { type LinkRequest, type LinkKind, type LinkOutcome, linkKinds } from '../links/link.ts'
import { LinkOpener } from '../links/link-opener.ts'
import { outcomePage } from '../links/pages.ts'
import { chooseRooftops } from '../pipeline/rooftops.ts'
import { runStreams } from '../pipeline/run-streams.ts'
import { vehicleChecks } from '../streams/vehicle-checks/vehicle-checks.ts'
import { nearestName } from '../values/nearest-name.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
import { addToList, type CommandDefinition } from './command.ts'
import { linksArchive } from './links-archive.ts'
import { exitCodeOf, reportLines } from './run-report.ts'

const refresh: CommandDefinition = {
  usage: 'refresh',
  summary:
    'Re-signs the links that are about to expire, the soonest first, and asks for nothing else',
  options: (command) =>
    command.option(
      '--rooftop <uid>',
      'only this rooftop: uid, its first 4 characters or more, or name (repeatable)',
      addToList,
      [],
    ),
  examples: ['forecourt links refresh', 'forecourt links refresh --rooftop 7f3a --json'],
  async run(session, options) {
    const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
    const from = toUnixSeconds(session.config.sync.start)
    const plan = { command: 'links refresh', mode: 'links', from, until: null } as const
    const request = { plan, streams: [vehicleChecks], rooftops }
    const report = await runStreams(await session.context(), request)
    session.result(report, () => reportLines(report, rooftops))
    return exitCodeOf(report)
  },
}

const show: CommandDefinition = {
  usage: 'show <kind> <id>',
  summary: 'Prints a live URL; exit 1 when there is none any more',
  options: (command) =>
    command.option('--rooftop <uid>', 'whose, where two rooftops know the same id'),
  examples: [
    'forecourt links show ppsr_pdf 70001',
    'forecourt links show photo 88123 --rooftop 7f3a --json',
  ],
  async run(session, options, args) {
    const { config } = session
    const kind = parseKind(String(args[0]))
    const named = typeof options['rooftop'] === 'string' ? [options['rooftop']] : []
    const chosen = chooseRooftops(config, named)
    const rooftopUid = named.length === 0 ? null : chosen[0]!.uid
    const ask = { kind, id: String(args[1]), rooftopUid }
    const outcome = await new LinkOpener(await session.context()).open(ask)
    if (outcome.is !== 'live') throw whyNot(ask, outcome, config)
    const { url, expiresAt } = outcome
    // The one purpose of the command is to hand the link out.
    session.resultWithSecrets({ kind, id: ask.id, url, expiresAt }, () => [url])
    return 0
  },
}

export const links: CommandDefinition = {
  usage: 'links',
  summary: 'refresh | show <kind> <id> | archive: signed links to PDFs and photos',
  examples: [
    'forecourt links refresh',
    'forecourt links show ppsr_pdf 70001',
    'forecourt links archive',
  ],
  subcommands: [refresh, show, linksArchive],
  run: () => Promise.resolve(undefined),
}

function parseKind(typed: string): LinkKind {
  const kind = linkKinds.find((one) => one === typed)
  if (kind !== undefined) return kind
  const meant = nearestName(typed, linkKinds)
  const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`
  throw new UsageError(`"${typed}" is no kind of link${hint}; known are: ${linkKinds.join(', ')}.`)
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
  const kept = outcome.archived === null ? '' : ` The archive has a copy: ${outcome.archived.path}`
  return new Error(`${kind} ${id} has vanished. ${outcomePage(kind, outcome).lines[0]}${kept}`)
}
