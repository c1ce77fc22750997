import { inSpan, type OpenSpan, openSpan, type SpanFacts } from '../../tracing.ts'
import { fromUnixSeconds } from '../../values/unix-seconds.ts'
import type { Window } from '../../values/window.ts'
import type { Proof } from '../windows/prove.ts'
import type { RunReport } from './run-report.ts'
import type { RunRequest } from './start-run.ts'
import type { SliceJob, SliceResult } from './stream.ts'

// The spans of a run: run, slice, window. Those of requests are in sources/http.ts.

/** The span of a run that this process starts. A worker's slices of it are in traces of their own, with the id of the run. */
export function openRunSpan({ plan, streams, rooftops }: RunRequest): OpenSpan {
  const span = openSpan(`run ${plan.command}`)
  span.set(() => ({
    'forecourt.run.command': plan.command,
    'forecourt.run.mode': plan.mode,
    'forecourt.run.streams': streams.map(({ name }) => name),
    'forecourt.run.rooftops': rooftops.length,
  }))
  return span
}

/** A run whose streams failed is an error, one that was stopped or paused is none. */
export function setRunEnd(
  span: OpenSpan,
  { report, end }: { readonly report: Pick<RunReport, 'status'>; readonly end: string },
): void {
  span.set(() => ({ 'forecourt.run.status': report.status, 'forecourt.run.end': end }))
  if (end === 'done' && report.status !== 'ok') span.fail(report.status)
}

/** One slice of one rooftop; marked as failed when it throws, or says what is missing. */
export async function inSliceSpan(
  job: SliceJob,
  work: () => Promise<SliceResult>,
): Promise<SliceResult> {
  return await inSpan(spanFacts('slice', job), async (span) => {
    const result = await work()
    const { windows, listed, inserted, updated, unchanged, quarantined } = result.counts
    span.set(() => ({
      'forecourt.slice.windows': windows,
      'forecourt.slice.listed': listed,
      'forecourt.rows.inserted': inserted,
      'forecourt.rows.updated': updated,
      'forecourt.rows.unchanged': unchanged,
      'forecourt.rows.quarantined': quarantined,
    }))
    if (result.error !== undefined) span.fail(result.ended ?? 'partial')
    return result
  })
}

/** The first slices of a stream at some rooftops, which are done together. */
export async function inSlicesSpan<J extends SliceJob>(
  jobs: readonly J[],
  work: (jobs: readonly J[]) => Promise<void>,
): Promise<void> {
  const { context, stream, run } = jobs[0]!
  const attributes = () => ({
    'forecourt.stream': stream.name,
    'forecourt.run.id': run.runId,
    'forecourt.slice.rooftops': jobs.length,
  })
  const { signal } = context
  const facts = { name: `slices ${stream.name}`, attributes, signal }
  await inSpan(facts, async () => await work(jobs))
}

/** One window that is listed and proved. */
export async function inWindowSpan(
  job: SliceJob,
  { from, until, open }: Window,
  work: () => Promise<Proof>,
): Promise<Proof> {
  return await inSpan(spanFacts('window', job), async (span) => {
    span.set(() => ({
      'forecourt.window.from': fromUnixSeconds(from).toISOString(),
      ...(open ? {} : { 'forecourt.window.until': fromUnixSeconds(until).toISOString() }),
    }))
    const proof = await work()
    span.set(() => ({
      'forecourt.window.parts': proof.parts.length,
      'forecourt.window.listed': proof.parts.reduce((sum, { items }) => sum + items.length, 0),
    }))
    return proof
  })
}

function spanFacts(kind: string, { context, stream, run, rooftop }: SliceJob): SpanFacts {
  return {
    name: `${kind} ${stream.name}`,
    attributes: () => ({
      'forecourt.stream': stream.name,
      'forecourt.run.id': run.runId,
      'forecourt.rooftop.uid': rooftop.uid,
    }),
    signal: context.signal,
  }
}
