import type { Config } from '../../app/config/read.ts'
import { allStreams } from '../../streams/all.ts'
import { isOldProof } from '../../sync/explain/status.ts'
import { type Html, html } from '../../values/html.ts'
import { earliest } from '../../values/instant.ts'
import { listText, plural, shareText } from '../../values/text.ts'
import { goodRooftops, type StreamProblem } from './problems.ts'
import type { StreamState } from './stream-states.ts'

/** What the first sentence is made from. */
export interface Summary {
  readonly states: readonly StreamState[]
  readonly problems: readonly StreamProblem[]
  /** Problems that are listed below besides those of streams. */
  readonly otherCount: number
  /** A run that is at work. */
  readonly runningId: number | null
}

/** Whose sentence it is. */
export interface SentenceContext {
  readonly config: Pick<Config, 'rooftops'>
  /** An instant in a sentence. */
  readonly time: (at: Date) => Html
}

/** Whether the numbers can be trusted, then why, and what is not affected. */
export interface Sentences {
  readonly tone: 'ok' | 'warn' | 'bad'
  readonly head: Html
  readonly more: Html
}

/** One sentence that says whether the numbers can be trusted, and one or two that say why, and what is not affected. */
export function writeSentences(summary: Summary, context: SentenceContext): Sentences {
  const { states, problems, otherCount, runningId } = summary
  const all = context.config.rooftops.length
  if (all === 0)
    return {
      ...{ tone: 'warn', head: html`No rooftop is configured.` },
      more: html`List the rooftops under <code>rooftops:</code> of the config, then start <code>forecourt serve</code> again.`,
    }
  if (states.every(({ status }) => status === 'never'))
    return {
      ...{ tone: 'warn', head: html`Nothing has been loaded yet.` },
      more:
        runningId === null
          ? html`Start the first load with <code>forecourt sync</code>, or start <code>forecourt schedule</code>.`
          : html`The first load is at work: <a href="/console/runs/${runningId}">run ${runningId}</a>.`,
    }
  const good = goodRooftops(states, context.config)
  const allGood =
    all === 1
      ? html`${context.config.rooftops[0]!.name} is fresh and complete.`
      : html`All ${all} rooftops are fresh and complete.`
  if (good.length === all)
    return {
      tone: 'ok',
      head: allGood,
      more: html`${completeUpTo(states, 'Evaluations are', context)} ${whenVerified(states, context)}${otherCauses(otherCount)}`,
    }
  const count =
    all === 1
      ? ''
      : `${good.length === 0 ? 'None' : good.length} of ${all} rooftops ${good.length < 2 ? 'is' : 'are'} fresh and complete. `
  const [worst] = problems
  const others = states.filter(({ uid }) => good.includes(uid))
  const unaffected = good.length > 0 && completeUpTo(others, 'Everything else is', context)
  return {
    tone: worst?.tone ?? 'warn',
    head: html`${count}${worst === undefined ? heldBack(states) : whatIsWrong(worst, context)}`,
    more: html`${worst === undefined ? 'The records that fit are loaded.' : whyIsIt(worst, problems.length - 1 + otherCount)} ${unaffected}`,
  }
}

/** Which rooftops, and since when. */
function whatIsWrong(
  { rooftops, streams, status, since }: StreamProblem,
  { time }: SentenceContext,
): Html {
  const names = listText(rooftops, 3)
  const isOne = rooftops.length === 1
  const which = streams.length === 1 ? html` (${streams[0]})` : ''
  const from = since === null ? '' : html` since ${time(since)}`
  const [one, many] = {
    failed: ['has failed', 'have failed'],
    late: ['is late', 'are late'],
    never: ['was never loaded', 'were never loaded'],
    partial: ['is incomplete', 'are incomplete'],
  }[status]
  return html`${names}${which} ${isOne ? one : many}${from}.`
}

function whyIsIt({ why, status }: StreamProblem, otherCount: number): Html {
  const lost =
    status === 'failed' || status === 'late'
      ? ' Nothing is lost: what was not loaded stays due.'
      : ''
  return html`${why.replace(/[.\s]*$/, '')}.${lost}${otherCauses(otherCount)}`
}

const otherCauses = (count: number) => (count > 0 ? ` ${plural(count, 'other cause')} below.` : '')

/** Where only quarantine is wrong. */
function heldBack(states: readonly StreamState[]): Html {
  const withQuarantine = states.filter(({ quarantined }) => quarantined > 0)
  const names = [...new Set(withQuarantine.map(({ name }) => name))]
  const records = withQuarantine.reduce((sum, { quarantined }) => sum + quarantined, 0)
  return html`${listText(names, 3)} ${names.length === 1 ? 'has' : 'have'} ${plural(records, 'record')} in quarantine.`
}

/** When the ids and sums were last compared with the lists, and which values were compared with the payloads. */
function whenVerified(states: readonly StreamState[], place: SentenceContext): Html {
  const windowed = allStreams.filter(({ records }) => records !== undefined)
  const verified = states.filter(({ stream }) => windowed.some(({ name }) => name === stream))
  const since = earliest(verified.map(({ windowsSince }) => windowsSince))
  const first = earliest(verified.map(({ verifiedAt }) => verifiedAt))
  if (first === null)
    return html`Stored rows have not been compared with the lists yet: <code>forecourt verify</code> does.`
  const old = isOldProof(first.toISOString())
    ? html` That was more than 2 days ago: <code>forecourt verify</code> does it again.`
    : ''
  const windows =
    since === null
      ? ', not of every window yet'
      : html`, of every window since ${place.time(since)}`
  return html`Ids and sums were compared with the lists at ${place.time(first)}${windows}: no difference.${old} ${whichValues(states, place)}`
}

/** Which values of the rows were compared with their payloads. */
function whichValues(states: readonly StreamState[], { time }: SentenceContext): Html {
  const since = earliest(states.map(({ valuesSince }) => valuesSince).filter((at) => at !== null))
  if (since === null)
    return html`No values were compared yet: the job <code>verify</code> compares a share each night.`
  if (states.every(({ isRoundComplete }) => isRoundComplete))
    return html`The values of all rows were compared since ${time(since)}.`
  const sum = (count: (state: StreamState) => number) =>
    states.reduce((total, state) => total + count(state), 0)
  const compared = sum((state) =>
    state.isRoundComplete ? state.roundRecords : state.roundCompared,
  )
  const share =
    compared /
    Math.max(
      1,
      sum(({ roundRecords }) => roundRecords),
    )
  return html`The values of ${shareText(Math.min(0.999, share))} of the rows were compared since ${time(since)}.`
}

/** Until when the evaluations of all these rooftops are complete. */
function completeUpTo(
  states: readonly StreamState[],
  what: string,
  { time }: SentenceContext,
): Html | null {
  const evaluations = states.filter(({ stream }) => stream === 'evaluations')
  const first = earliest(evaluations.map(({ coveredTo }) => coveredTo))
  if (first === null) return null
  return html`${what} complete up to ${time(first)}.`
}
