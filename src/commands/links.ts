import type { Config } from '../config/read.ts'
import { UsageError } from '../errors.ts'
import type { LinkKind, LinkOutcome, LinkRequest } from '../links/link.ts'
import { LinkOpener } from '../links/link-opener.ts'
import { outcomePage } from '../links/pages.ts'
import { chooseRooftops } from '../config/choose-rooftops.ts'
import { runStreams } from '../pipeline/run-streams.ts'
import { vehicleChecks } from '../streams/vehicle-checks/vehicle-checks.ts'
import { toUnixSeconds } from '../values/unix-seconds.ts'
import type { RunCommand } from './command.ts'
import { exitCodeOf, reportLines } from './run-report.ts'

export const refresh: RunCommand = async (session, options) => {
  const rooftops = chooseRooftops(session.config, options['rooftop'] as string[])
  const from = toUnixSeconds(session.config.sync.start)
  const plan = { command: 'links refresh', mode: 'links', from, until: null } as const
  const request = { plan, streams: [vehicleChecks], rooftops }
  const report = await runStreams(await session.context(), request)
  session.result(report, () => reportLines(report, rooftops))
  return exitCodeOf(report)
}

export const show: RunCommand = async (session, options, args) => {
  const { config } = session
  const kind = args[0] as LinkKind
  const named = typeof options['rooftop'] === 'string' ? [options['rooftop']] : []
  const chosen = chooseRooftops(config, named)
  const rooftopUid = named.length === 0 ? null : chosen[0]!.uid
  const ask = { kind, id: String(args[1]), rooftopUid }
  const outcome = await new LinkOpener(await session.context()).open(ask)
  if (outcome.is !== 'live') throw whyNot(ask, outcome, config)
  const { url, expiresAt } = outcome
  // The link is what the user asks for.
  session.resultWithSecrets({ kind, id: ask.id, url, expiresAt }, () => [url])
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
