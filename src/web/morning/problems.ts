import { shortKey } from '../../api/sources/key-advice.ts'
import type { Config } from '../../app/config/read.ts'
import { allStreams } from '../../streams/all.ts'
import { freshWithinHours } from '../../sync/explain/status.ts'
import { causeWords } from '../../sync/run/cause-words.ts'
import type { KeyState } from '../../sync/run/key-states.ts'
import { earliest } from '../../values/instant.ts'
import { eachText, listText, plural } from '../../values/text.ts'
import { refusalCure, refusalText, whereRefused } from './key-words.ts'
import type { StreamState } from './stream-states.ts'

/** Something that a person should see to. */
export interface Problem {
  /** The worst is the smallest. */
  readonly rank: number
  readonly word: string
  readonly tone: 'warn' | 'bad'
  readonly what: string
  readonly detail: string
  readonly why: string
  readonly since: Date | null
  /** What to do about it, below /console. */
  readonly link: { readonly label: string; readonly path: string }
}

/** A problem of streams: the same cause at one rooftop or several. */
export interface StreamProblem extends Problem {
  readonly status: 'failed' | 'late' | 'never' | 'partial'
  readonly rooftops: readonly string[]
  readonly streams: readonly string[]
}

const never = Number.MAX_SAFE_INTEGER

/** Worst first; of the same rank, what has lasted longest. */
export function sortProblems<P extends Problem>(problems: readonly P[]): P[] {
  return [...problems].sort(
    (a, b) => a.rank - b.rank || (a.since?.getTime() ?? never) - (b.since?.getTime() ?? never),
  )
}

/**
 * What is wrong with streams, a row for each cause: the streams of a rooftop with the same cause are one row, and so are the
 * rooftops with the same cause in the same streams. A refused key is one row, whatever it stops. Quarantine alone is left to the
 * list of its causes.
 */
export function streamProblems(
  states: readonly StreamState[],
  { keys, config }: { readonly keys: readonly KeyState[]; readonly config: Config },
): StreamProblem[] {
  const wrong = states.filter(
    ({ status, error, fault, gaps, unprovable }) =>
      status !== 'ok' &&
      (status !== 'partial' || error !== null || fault !== null || gaps + unprovable > 0),
  )
  const refused = keys.filter(({ refusal }) => refusal !== null)
  const names = new Set(refused.map(({ key }) => key))
  const isOfKey = ({ refusedKey }: StreamState) => refusedKey !== null && names.has(refusedKey)
  const byCause = Map.groupBy(
    wrong.filter((state) => !isOfKey(state)),
    (state) => `${state.uid} ${causeKey(state)}`,
  )
  const causes = [...byCause.values()].map((sameCause) => ({
    own: sameCause,
    key: `${causeKey(sameCause[0]!)} ${sameCause.map(({ stream }) => stream).join()}`,
  }))
  const together = Map.groupBy(causes, ({ key }) => key)
  return sortProblems([
    ...refused.map((key) => keyProblem(key, wrong, config)),
    ...[...together.values()].map((same) => streamProblem(same.flatMap((one) => one.own))),
  ])
}

/** A refused key as one problem, with everything that it stops. */
function keyProblem(state: KeyState, wrong: readonly StreamState[], config: Config): StreamProblem {
  const refusal = state.refusal!
  const stopped = wrong.filter(({ refusedKey }) => refusedKey === state.key)
  const named = new Set(refusal.rooftops)
  const rooftops = config.rooftops.filter(({ uid }) => named.has(uid)).map(({ name }) => name)
  return {
    ...{ status: 'failed', rank: ranks.failed, word: 'Key refused', tone: 'bad' },
    ...{ rooftops, streams: [...new Set(stopped.map(({ stream }) => stream))] },
    what: listText(rooftops, 3),
    detail: `key “${shortKey(state.key)}”, ${whereRefused(refusal)}`,
    why: `${refusalText(refusal)}. ${refusalCure(state, config)}`,
    since: refusal.since,
    link: { label: 'Show the key', path: '/work#keys' },
  }
}

function causeKey(state: StreamState): string {
  return `${state.status} ${causeWords(explainState(state).replaceAll(state.uid, ''))}`
}

function explainState({ status, error, fault, gaps, unprovable }: StreamState): string {
  if (status === 'never') return 'No run has finished yet: start one with "forecourt sync".'
  if (status === 'late')
    return `No good run within ${freshWithinHours} hours${error === null ? '' : `; the last one: ${error}`}`
  if (error !== null) return error
  if (fault !== null) return `The last verification found: ${fault}.`
  if (gaps > 0) return `${plural(gaps, 'span')} of time wanted, and not listed yet`
  return unprovable > 0
    ? `${plural(unprovable, 'window')} whose list cannot be proved complete`
    : 'The reason was not recorded.'
}

/** The reason of states with one cause, with the numbers of all of them. */
function explainAll(states: readonly StreamState[]): string {
  const [first] = states as [StreamState]
  const sum = (name: 'gaps' | 'unprovable') => states.reduce((all, state) => all + state[name], 0)
  const fault = eachText(states.map((state) => [state.name, state.fault ?? '']))
  return explainState({
    ...{ ...first, gaps: sum('gaps'), unprovable: sum('unprovable') },
    fault: first.fault && fault,
  })
}

const ranks = { failed: 0, late: 1, never: 3, partial: 4 } as const
const words = { failed: 'Failed', late: 'Late', never: 'Never', partial: 'Incomplete' } as const

/** The row of states with one cause. */
function streamProblem(states: readonly StreamState[]): StreamProblem {
  const [first] = states as [StreamState]
  const status = first.status as StreamProblem['status']
  const isWrong = first.fault !== null
  const rooftops = [...new Set(states.map(({ name }) => name))]
  const streams = [...new Set(states.map(({ stream }) => stream))]
  const keys = [...new Set(states.map(({ key }) => key))]
  const which = streams.length === allStreams.length ? 'all streams' : streams.join(', ')
  return {
    ...{ status, rooftops, streams, word: words[status] },
    rank: isWrong ? ranks.late : ranks[status],
    tone: isWrong || status === 'failed' || status === 'late' ? 'bad' : 'warn',
    what: listText(rooftops, 3),
    detail: status === 'failed' && keys.length === 1 ? `${which}, key “${keys[0]}”` : which,
    why: explainAll(states),
    since: earliest(states.map(({ since }) => since).filter((at) => at !== null)),
    link: problemLink(states, rooftops.length === 1),
  }
}

function problemLink(states: readonly StreamState[], isOne: boolean): Problem['link'] {
  const [{ status, failedRun, uid, stream, gaps }] = states as [StreamState]
  const rooftop = `/rooftops/${encodeURIComponent(uid)}`
  if (status === 'failed' && failedRun !== null)
    return { label: `Show run ${failedRun}`, path: `/runs/${failedRun}` }
  if (status === 'partial' && gaps > 0)
    return {
      label: 'Show the gaps',
      // The calendar shows 50 rooftops a page: that of one rooftop may be on another.
      path: isOne ? `${rooftop}#gaps` : `/coverage?stream=${stream}`,
    }
  return isOne
    ? { label: 'Show the rooftop', path: rooftop }
    : { label: 'Show the runs', path: '/runs' }
}

/** The uids of the rooftops that have no problem in any stream, quarantine included. */
export function goodRooftops(
  states: readonly StreamState[],
  { rooftops }: Pick<Config, 'rooftops'>,
): string[] {
  const bad = new Set(states.filter(({ status }) => status !== 'ok').map(({ uid }) => uid))
  return rooftops.map(({ uid }) => uid).filter((uid) => !bad.has(uid))
}
